# Writes a .cpp with the SHA-256 of a list of files: cmake -DOUTPUT=… -DFILES=a;b;c -P HashSources.cmake
set(all "")
foreach(file ${FILES})
  file(SHA256 ${file} hash)
  string(APPEND all ${hash})
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 16 hash)
file(WRITE ${OUTPUT} "#include \"compiler/SourceHash.h\"\nstd::string_view tegula::compilerSourceHash() { return \"${hash}\"; }\n")
