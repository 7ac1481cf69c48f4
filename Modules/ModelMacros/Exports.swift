// The expansions of the macros use the model and its objects.
@_exported import CoherenceCore
