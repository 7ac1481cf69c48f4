#include "CoherenceRuntime.h"
