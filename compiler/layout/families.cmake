# Families and the framework adapters that read them. families/*.json are compiled in, so that the
# tools need no data path; a new file there is all that a new family takes.
file(GLOB FAMILY_FILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/families/*.json)
list(SORT FAMILY_FILES)
set(FAMILY_DATA ${CMAKE_CURRENT_BINARY_DIR}/family_data.cc)
add_custom_command(
  OUTPUT ${FAMILY_DATA}
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${FAMILY_DATA} "-DFILES=${FAMILY_FILES}"
          -P ${CMAKE_CURRENT_LIST_DIR}/families_embed.cmake
  DEPENDS ${FAMILY_FILES} ${CMAKE_CURRENT_LIST_DIR}/families_embed.cmake
  VERBATIM)
target_sources(reshard_layout PRIVATE
    family_attention.cc
    family_catalog.cc
    family_expert_stack.cc
    family_expression.cc
    family_expression_parser.cc
    family_fields.cc
    family_linear.cc
    family_name_matcher.cc
    family_reader.cc
    family_recomputed.cc
    family_roles.cc
    family_segments.cc
    family_tensors.cc
    family_views.cc
    fsdp_degrees.cc
    fsdp_layout.cc
    fsdp_parameter.cc
    huggingface_config.cc
    huggingface_layout.cc
    huggingface_parameters.cc
    layout_description.cc
    layout_meshes.cc
    megatron_degrees.cc
    megatron_experts.cc
    megatron_layer.cc
    megatron_layout.cc
    megatron_mixers.cc
    megatron_stages.cc
    sglang_degrees.cc
    sglang_layout.cc
    stage_layers.cc
    torchtitan_layout.cc
    torchtitan_parameters.cc
    torchtitan_stages.cc
    vllm_degrees.cc
    vllm_layer.cc
    vllm_layout.cc
    vocabulary_rows.cc
    whole_parameter.cc
    ${FAMILY_DATA})
