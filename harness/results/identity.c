#include "results/identity.h"

#include <math.h>

bool identity_keeps_busy(double connections, double rate_per_s, double mean_ms, double max_ms, double window_s,
                         bool generator_bound)
{
    double busy = rate_per_s * mean_ms / 1000;
    double slack = 0.05 + fmin(1, max_ms / 1000 / window_s);

    return !(fabs(busy - connections) > slack * connections) || (generator_bound && busy < connections);
}
