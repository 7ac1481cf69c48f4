/// Excludes a property with entities from an aggregate or a wrapper: its value stays as it was stored.
@attached(peer)
public macro NotNested() = #externalMacro(module: "CoherenceMacrosPlugin", type: "NotNestedMacro")
