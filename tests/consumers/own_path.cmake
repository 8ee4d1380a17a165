message("${CMAKE_COMMAND}")
