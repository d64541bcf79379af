# Families and framework adapters: one program, since they share their models.
reshard_test(frameworks_test
  SOURCES
    family_test_model.cc
    huggingface_config_test.cc
    megatron_layout_test.cc
    vllm_layout_test.cc
  DEPENDS reshard_layout)
