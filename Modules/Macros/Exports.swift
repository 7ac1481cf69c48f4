// The expansions of the macros use the identity map.
@_exported import CoherenceIdentityMap
