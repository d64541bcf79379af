# Families and framework adapters: one program, since they share their models.
reshard_test(frameworks_test
  SOURCES
    family_attention_test.cc
    family_catalog_test.cc
    family_coverage_test.cc
    family_expression_test.cc
    family_fields_test.cc
    family_linear_test.cc
    family_name_matcher_test.cc
    family_reader_test.cc
    family_recomputed_test.cc
    family_roles_test.cc
    family_tensors_test.cc
    family_test_model.cc
    huggingface_config_test.cc
    megatron_degrees_test.cc
    megatron_layer_test.cc
    megatron_layout_test.cc
    megatron_stages_test.cc
    vllm_degrees_test.cc
    vllm_layer_test.cc
    vllm_layout_test.cc
  DEPENDS reshard_layout)
