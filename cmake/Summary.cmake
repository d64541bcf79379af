message(STATUS "reshard ${PROJECT_VERSION}: ${CMAKE_BUILD_TYPE}, C++${CMAKE_CXX_STANDARD},"
               " sanitizers [${RESHARD_SANITIZE}]")
if(RESHARD_CUDA)
  message(STATUS "GPU kernels: CUDA ${CUDAToolkit_VERSION}, for ${CMAKE_CUDA_ARCHITECTURES}")
else()
  message(STATUS "GPU kernels: not built, no CUDA toolkit 12.8 or newer was found; all else is built")
endif()
