/// Says that a property of an aggregate or of a wrapper is not followed, although an entity is in it: it stays as it was
/// stored.
@attached(peer)
public macro NotNested() = #externalMacro(module: "CoherenceMacrosPlugin", type: "NotNestedMacro")
