"""Who may include whom, and how files are named: the rules of the house, as functions of text.

Every function takes the path of a file relative to the repository and its text, and returns one line
per violation.
"""

import re

OWN = {"foundation", "topology", "schedules", "kernels", "compiler", "simulator", "runtime", "tools"}

# Module -> modules it may include. The foundation is a leaf that everyone may know.
MAY_INCLUDE = {
    "foundation": {"foundation"},
    "topology": {"foundation", "topology"},
    "kernels": {"foundation", "kernels"},
    "schedules": {"foundation", "schedules"},
    "schedules/drawing": {"foundation", "schedules", "topology"},
    "compiler": {"foundation", "topology", "schedules", "compiler"},
    "simulator": {"foundation", "topology", "schedules", "simulator"},
    "runtime": {"foundation", "kernels", "schedules", "runtime"},
    "tools": OWN,
}

# Readers of JSON and writers of --json and traces; everyone else lives without it.
JSON_HEADERS = {
    "foundation/" + name
    for name in ("json_cursor.h", "json_edit.h", "json_value.h", "json_writer.h", "strict_json.h")
}
JSON_MODULES = {"foundation", "topology", "compiler", "simulator", "tools"}

# Header of a library -> the places that may include it, as path prefixes. Tests of a place may too.
LIBRARIES = [
    (r"cuda.*\.h|cub/.*|cooperative_groups.*", ["runtime/nccl/", "kernels/cuda/", "tests/doubles/"]),
    (r"nccl.*\.h", ["runtime/nccl/", "kernels/cuda/", "tests/doubles/"]),
    (r"mpi\.h", ["runtime/mpi/"]),
    (r".*\.pb\.h|google/protobuf/.*", ["schedules/codec_", "schedules/plan_codec."]),
    (r"CLI/.*", ["tools/"]),
    (r"nlohmann/.*", ["foundation/"]),
    (r"boost/graph/.*", ["compiler/planning/flow_network."]),
    (r"boost/.*", ["compiler/", "schedules/", "simulator/", "topology/"]),
    (r"coin/.*|Clp.*|Coin.*", ["compiler/planning/linear_program.", "tests/"]),
    (r"gvc\.h|cgraph\.h|graphviz/.*", ["schedules/drawing/"]),
    (r"pugixml\.hpp|yaml-cpp/.*", ["topology/importers/"]),
    (r"simgrid/.*", ["tests/"]),
    (r"gtest/.*|gmock/.*|benchmark/.*", ["tests/"]),
]

# The verifier and the bounds judge the solvers, so they never include one.
JUDGES = re.compile(r"^(schedules/verif\w*|compiler/bounds/\w*)\.(h|cc)$")
SOLVERS = re.compile(r"^(coin/|Clp|Coin|boost/graph/)|^compiler/(planning/|planner\.h)")

# Room of the compiler -> rooms it may include; "" is the compiler's own folder, above them all but for
# the planners' interface.
COMPILER_ROOMS = {
    "layout": {"layout"},
    "job": {"job", "layout"},
    "demand": {"demand"},
    "bounds": {"bounds"},
    "planning": {"planning", "bounds", "planner.h"},
    "baselines": {"baselines", "job", "layout", "planner.h"},
}

EMPTY_NAME = re.compile(r"(util|helper|manager|misc|common)", re.IGNORECASE)
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
LONGEST_FILE = 550  # lines; about 500 is the aim

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)


def module_of(path):
    if path.startswith("schedules/drawing/"):
        return "schedules/drawing"
    return path.split("/", 1)[0]


def includes_of(text):
    """(header, True where in quotes) of every include line."""
    return [(name, quote == '"') for quote, name in INCLUDE.findall(text)]


def is_library_allowed(path, prefixes):
    # A test of a place stands under tests/ with the same path.
    place = path[len("tests/"):] if path.startswith("tests/") else path
    return any(path.startswith(prefix) or place.startswith(prefix) for prefix in prefixes)


def include_violations(path, text):
    violations = []
    module = module_of(path)
    for header, quoted in includes_of(text):
        target = header.split("/", 1)[0]
        if quoted and target in OWN and module in MAY_INCLUDE:
            if target not in MAY_INCLUDE[module]:
                violations.append(f"{path}: {module} may not include {header}")
            # Drawing is a target of its own that the rest of schedules and the runtime never see.
            elif header.startswith("schedules/drawing/") and module not in ("schedules/drawing", "tools"):
                violations.append(f"{path}: {module} may not include {header}")
        if header in JSON_HEADERS and module in MAY_INCLUDE and module not in JSON_MODULES:
            violations.append(f"{path}: {module} may not read JSON ({header})")
        for pattern, prefixes in LIBRARIES:
            if re.fullmatch(pattern, header):
                if not is_library_allowed(path, prefixes):
                    violations.append(f"{path}: {header} belongs in {', '.join(prefixes)} only")
                break
        if JUDGES.match(path) and SOLVERS.search(header):
            violations.append(f"{path}: includes a solver ({header})")
    return violations


def room_violations(path, text):
    """Includes that run against the compiler's own order: layouts, job, demand, bounds, planning."""
    folders = path.split("/")
    if folders[0] != "compiler" or folders[1] not in COMPILER_ROOMS:
        return []
    allowed = COMPILER_ROOMS[folders[1]]
    return [
        f"{path}: compiler/{folders[1]} may not include {header}"
        for header, quoted in includes_of(text)
        if quoted and header.startswith("compiler/") and header.split("/")[1] not in allowed
    ]


def name_violations(path):
    name = path.rsplit("/", 1)[-1]
    if re.search(r"\.(cc|h|cu|cuh|py)$", name) and EMPTY_NAME.search(name):
        return [f"{path}: the name says nothing about the content"]
    return []


def text_violations(path, text):
    violations = []
    lines = text.count("\n")
    if lines > LONGEST_FILE:
        violations.append(f"{path}: {lines} lines; {LONGEST_FILE} is the limit")
    if path.endswith((".cc", ".h", ".cu", ".cuh")) or path.endswith("CMakeLists.txt"):
        for found in UNFINISHED.finditer(text):
            violations.append(f"{path}: left undone: {found.group()}")
    if path.endswith(".h") and "#pragma once" not in text:
        violations.append(f"{path}: a header without #pragma once")
    return violations


def violations(path, text):
    return (
        include_violations(path, text)
        + room_violations(path, text)
        + name_violations(path)
        + text_violations(path, text)
    )
