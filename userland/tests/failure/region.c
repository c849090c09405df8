#include "failure.h"
const struct scenario region_scenarios[] = {{0}};
