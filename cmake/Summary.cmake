message(STATUS "reshard ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, C++${CMAKE_CXX_STANDARD},"
               " sanitizers [${RESHARD_SANITIZE}]")
if(CUDAToolkit_FOUND AND RESHARD_NCCL_INCLUDE)
  message(STATUS "GPU targets: none in this version (CUDA ${CUDAToolkit_VERSION} and NCCL are here)")
else()
  message(STATUS "GPU targets: none in this version, and no CUDA toolkit with NCCL was found;"
                 " all else is built")
endif()
