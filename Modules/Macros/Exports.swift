// Who writes macros of the identity map needs the identity map.
@_exported import CoherenceIdentityMap
