#include "failure.h"
const struct scenario system_scenarios[] = {{0}};
