# Fails when MODULE asks others for a symbol of this project: some file of src/cli is not in the list `embedded` there.
execute_process(COMMAND ${NM} -D -C --undefined-only ${MODULE} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]*couplet::[^\n]*" missing "${symbols}")
if(missing)
  string(REPLACE ";" "\n" missing "${missing}")
  message(FATAL_ERROR "${MODULE} lacks:\n${missing}\nName the file that defines it in `embedded` of src/cli/CMakeLists.txt.")
endif()
