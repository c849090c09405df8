#include "failure.h"
const struct scenario file_scenarios[] = {{0}};
