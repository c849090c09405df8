#include "failure.h"
const struct scenario process_scenarios[] = {{0}};
