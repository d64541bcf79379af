"""Holds the repository against its own rules, and the rules against examples of what they forbid."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import house_rules  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = sorted(house_rules.OWN | {"tests"})
SUFFIXES = {".cc", ".h", ".cu", ".cuh", ".py"}


def own_files():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and (path.suffix in SUFFIXES or path.name == "CMakeLists.txt"):
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


class RepositoryTest(unittest.TestCase):
    def test_every_file_keeps_the_rules(self):
        found = []
        count = 0
        for path, text in own_files():
            count += 1
            if not path.startswith("tests/repository/"):
                found += house_rules.violations(path, text)
        self.assertGreater(count, 20, "the repository was not found")
        self.assertEqual(found, [], "\n" + "\n".join(found))


class RulesTest(unittest.TestCase):
    def check(self, path, text, count=1):
        found = house_rules.violations(path, text)
        self.assertEqual(len(found), count, found)

    def test_modules_keep_to_their_neighbours(self):
        self.check("runtime/engine.cc", '#include "topology/cluster.h"\n')
        self.check("runtime/engine.cc", '#include "compiler/job/job.h"\n')
        self.check("schedules/plan.cc", '#include "topology/cluster.h"\n')
        self.check("topology/reader.cc", '#include "schedules/plan.h"\n')
        self.check("kernels/copy_table.cc", '#include "schedules/plan.h"\n')
        self.check("compiler/planning/rounds.cc", '#include "simulator/simulate.h"\n')
        self.check("simulator/replay.cc", '#include "compiler/job/job.h"\n')
        self.check("foundation/error.cc", '#include "tools/progress.h"\n')
        self.check("compiler/compile.cc", '#include "schedules/plan.h"\n', 0)
        self.check("tools/reshard_compile.cc", '#include "simulator/simulate.h"\n', 0)

    def test_drawing_is_apart_from_the_core(self):
        self.check("schedules/drawing/cluster_view.cc", '#include "topology/cluster.h"\n', 0)
        self.check("runtime/engine.cc", '#include "schedules/drawing/cluster_view.h"\n')
        self.check("schedules/plan.cc", '#include "schedules/drawing/cluster_view.h"\n')

    def test_json_stays_with_readers(self):
        self.check("runtime/engine.cc", '#include "foundation/strict_json.h"\n')
        self.check("schedules/plan_codec.cc", '#include "foundation/json_value.h"\n')
        self.check("topology/cluster_reader.cc", '#include "foundation/strict_json.h"\n', 0)
        self.check("runtime/engine.cc", '#include "foundation/error.h"\n', 0)
        self.check("compiler/job/job.cc", "#include <nlohmann/json.hpp>\n")

    def test_libraries_stay_in_their_places(self):
        self.check("runtime/engine.cc", "#include <mpi.h>\n")
        self.check("runtime/mpi/mpi_backend.cc", "#include <mpi.h>\n", 0)
        self.check("tests/runtime/mpi/mpi_backend_test.cc", "#include <mpi.h>\n", 0)
        self.check("runtime/engine.cc", "  #  include <nccl.h>\n")
        self.check("kernels/copy_table.cc", "#include <cuda_runtime.h>\n")
        self.check("kernels/cuda/copy.cu", "#include <cuda_runtime.h>\n", 0)
        self.check("compiler/compile.cc", "#include <CLI/CLI.hpp>\n")
        self.check("compiler/planning/routes.cc", "#include <boost/graph/push_relabel_max_flow.hpp>\n")
        self.check("compiler/planning/flow_network.cc", "#include <boost/graph/push_relabel_max_flow.hpp>\n", 0)
        self.check("runtime/engine.cc", "#include <boost/container/small_vector.hpp>\n")
        self.check("compiler/job/job.cc", '#include "schedules/plan.pb.h"\n')
        self.check("schedules/plan.cc", '#include "schedules/plan.pb.h"\n')
        self.check("schedules/codec_columns.h", '#pragma once\n#include "schedules/plan.pb.h"\n', 0)
        self.check("simulator/replay.cc", "#include <simgrid/s4u.hpp>\n")
        self.check("tests/oracles/simgrid_test.cc", "#include <simgrid/s4u.hpp>\n", 0)
        self.check("topology/x.cc", "#include <gtest/gtest.h>\n")

    def test_judges_include_no_solver(self):
        self.check("compiler/bounds/bounds.cc", '#include "compiler/planning/flow_network.h"\n', 2)  # and a later room
        self.check("compiler/bounds/bounds.cc", '#include "compiler/bounds/rank_resources.h"\n', 0)
        self.check("schedules/verifier.cc", "#include <coin/ClpSimplex.hpp>\n", 2)  # also out of place

    def test_rooms_of_the_compiler_know_earlier_ones(self):
        self.check("compiler/planning/heads.cc", '#include "compiler/bounds/rank_resources.h"\n', 0)
        self.check("compiler/planning/optimal_planner.h", '#pragma once\n#include "compiler/planner.h"\n', 0)
        self.check("compiler/compile.cc", '#include "compiler/planning/heads.h"\n', 0)
        self.check("compiler/layout/block.cc", '#include "compiler/job/job.h"\n')
        self.check("compiler/demand/demand_builder.cc", '#include "compiler/planning/heads.h"\n')
        self.check("compiler/planning/heads.cc", '#include "compiler/compile.h"\n')

    def test_names_and_texts(self):
        self.check("compiler/string_utils.cc", "")
        self.check("compiler/plan_helper.h", "#pragma once\n")
        self.check("compiler/a.h", "int a;\n")
        self.check("compiler/a.cc", "int a;  // TODO: b\n")
        self.check("compiler/a.cc", "\n" * 551)
        self.check("compiler/a.cc", "\n" * 550, 0)

    def test_comments_are_no_includes(self):
        self.check("runtime/engine.cc", '// #include "topology/cluster.h"\n', 0)


if __name__ == "__main__":
    unittest.main()
