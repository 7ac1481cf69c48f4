import CoherenceCore
import Synchronization

/// The contents that in-memory stores share by name. A content lives while a store holds it.
enum InMemoryRegistry {
  private struct Key: Hashable {
    let name: String
    let configuration: String?

    init(_ name: String, _ environment: StoreEnvironment) {
      self.name = name
      self.configuration = environment.configurationName
    }
  }
  private struct Reference { weak var content: InMemoryContent? }
  private static let known = Mutex<[Key: Reference]>([:])

  /// The content of that name, made by the first store.
  ///
  /// - Throws: ``ErrorCode/incompatibleModel`` when it is open with other entities than the environment's.
  static func content(named name: String, for environment: StoreEnvironment) throws -> InMemoryContent {
    try known.withLock { known in
      known = known.filter { $0.value.content != nil }
      guard let content = known[Key(name, environment)]?.content else {
        let content = InMemoryContent(environment)
        known[Key(name, environment)] = Reference(content: content)
        return content
      }
      // Rows refer to the descriptions of one model, and identifiers compare by them.
      guard content.schema.entities.elementsEqual(environment.entities, by: ===) else {
        throw CoherenceError(
          .incompatibleModel,
          "The in-memory store named '\(name)' is open with another model; open it with the same model, or choose "
            + "another name.")
      }
      return content
    }
  }

  /// The content of that name, if a store holds one.
  static func liveContent(named name: String, for environment: StoreEnvironment) -> InMemoryContent? {
    known.withLock { $0[Key(name, environment)]?.content }
  }

  /// Lets the next store of that name begin empty.
  static func forget(_ name: String, for environment: StoreEnvironment) {
    known.withLock { known in known[Key(name, environment)] = nil }
  }
}
