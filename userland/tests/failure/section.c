#include "failure.h"
const struct scenario section_scenarios[] = {{0}};
