#include "failure.h"
const struct scenario name_scenarios[] = {{0}};
