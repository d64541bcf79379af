# Every outside library, found here and nowhere else. README says what each is for.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)
# 1.74, the distribution's default: libsimgrid-dev (a test oracle) and libboost1.81-dev exclude each other.
find_package(Boost 1.74 REQUIRED)
pkg_check_modules(graphviz REQUIRED IMPORTED_TARGET libgvc libcgraph)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(clp REQUIRED IMPORTED_TARGET clp)
if(RESHARD_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# Only reported: the replay over NCCL and its kernels are not part of this version.
find_package(CUDAToolkit QUIET)
find_path(RESHARD_NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})

find_program(RESHARD_CCACHE ccache)
if(RESHARD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RESHARD_CCACHE})
  set(CMAKE_CUDA_COMPILER_LAUNCHER ${RESHARD_CCACHE})
endif()
