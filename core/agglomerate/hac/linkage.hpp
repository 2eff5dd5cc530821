// The linkages, one list for all kernels; each says which of them it has.
#pragma once

namespace cladify {

enum class Linkage : int { single, complete, average, weighted, ward, centroid, median };

}  // namespace cladify
