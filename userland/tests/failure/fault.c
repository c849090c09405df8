#include "failure.h"
const struct scenario fault_scenarios[] = {{0}};
