#include "failure.h"
const struct scenario memory_scenarios[] = {{0}};
