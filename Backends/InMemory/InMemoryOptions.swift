import CoherenceCore

/// The names of the options of in-memory stores, beside those of ``StoreOption``.
public enum InMemoryOption {
  /// A name under which in-memory stores of one process share their content. A `string`.
  ///
  /// Stores opened with the same name and the same model configuration have one content and one identity. The content
  /// lives while at least one of them is open. They must be opened with the same model, not with another one built from
  /// the same declarations: ``ErrorCode/incompatibleModel`` otherwise. A store without a name has a content of its own.
  /// Attaching a store with an empty name, or with a value of another type, throws ``ErrorCode/invalidOption``.
  public static let sharedName = "sharedName"
}

/// The options of a store, checked.
struct InMemoryOptions: Sendable {
  /// The name of the shared content; `nil` for a content of the store's own.
  var sharedName: String?

  init(_ environment: StoreEnvironment) throws {
    try environment.checkOptionNames(besides: [InMemoryOption.sharedName])
    sharedName = try environment.text(InMemoryOption.sharedName, "a text, and not empty") { !$0.isEmpty }
  }
}
