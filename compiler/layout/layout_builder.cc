#include "compiler/layout/layout_builder.h"

#include <array>

#include "compiler/layout/explicit_layout.h"
#include "compiler/layout/fsdp_layout.h"
#include "compiler/layout/huggingface_layout.h"
#include "compiler/layout/megatron_layout.h"
#include "compiler/layout/sglang_layout.h"
#include "compiler/layout/torchtitan_layout.h"
#include "compiler/layout/vllm_layout.h"

namespace reshard {
namespace {

struct LayoutKind {
  std::string_view name;
  LayoutBuilder build;
};

constexpr std::array kKinds = {
    LayoutKind{"explicit", BuildExplicitLayout}, LayoutKind{"fsdp", BuildFsdpLayout},
    LayoutKind{"hf", BuildHuggingfaceLayout},    LayoutKind{"megatron", BuildMegatronLayout},
    LayoutKind{"sglang", BuildSglangLayout},     LayoutKind{"torchtitan", BuildTorchtitanLayout},
    LayoutKind{"vllm", BuildVllmLayout},
};

}  // namespace

LayoutBuilder FindLayoutBuilder(std::string_view kind) {
  for (const LayoutKind& known : kKinds) {
    if (known.name == kind) return known.build;
  }
  return nullptr;
}

std::string LayoutKinds() {
  std::string names;
  for (const LayoutKind& known : kKinds) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

}  // namespace reshard
