/// Excludes a property with entities from an aggregate, or a property or case from a wrapper: its value stays as it was
/// stored.
@attached(peer)
public macro NotNested() = #externalMacro(module: "CoherenceMacrosPlugin", type: "NotNestedMacro")
