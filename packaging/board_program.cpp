// One file for laird and lairctl on a board: both contain OpenSSL, SQLite and most of our own code,
// and a board has little room. The name that the program is started by says which of them it is.
#include <cstring>

// The mains of agent/main.cpp and control/main.cpp, renamed by CMakeLists.txt.
int laird_main(int argc, char** argv);
int lairctl_main(int argc, char** argv);

int main(int argc, char** argv) {
  const char* path = argc > 0 ? argv[0] : "";
  const char* slash = std::strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  return std::strcmp(name, "lairctl") == 0 ? lairctl_main(argc, argv) : laird_main(argc, argv);
}
