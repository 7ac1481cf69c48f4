import CoherenceCore
import Synchronization

/// The contents that in-memory stores share by name. A content lives as long as a store refers to it.
enum InMemoryRegistry {
  /// The name of a content, and the configuration of its model: stores of different configurations share no content.
  private struct Key: Hashable {
    let name: String
    let configuration: String?

    init(_ name: String, _ environment: StoreEnvironment) {
      self.name = name
      self.configuration = environment.configurationName
    }
  }
  /// Does not retain the content, which only its stores retain.
  private struct Reference { weak var content: InMemoryContent? }
  private static let contents = Mutex<[Key: Reference]>([:])

  /// The content with a name, made by the first store.
  ///
  /// - Throws: ``ErrorCode/incompatibleModel`` when it is open with other entities than the environment's.
  static func content(named name: String, for environment: StoreEnvironment) throws -> InMemoryContent {
    try contents.withLock { contents in
      contents = contents.filter { $0.value.content != nil }
      guard let content = contents[Key(name, environment)]?.content else {
        let content = InMemoryContent(environment)
        contents[Key(name, environment)] = Reference(content: content)
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

  /// The content with a name; `nil` if no open store has it.
  static func liveContent(named name: String, for environment: StoreEnvironment) -> InMemoryContent? {
    contents.withLock { $0[Key(name, environment)]?.content }
  }

  /// Removes the name of a content, so that the next store of the name begins empty.
  static func forget(_ name: String, for environment: StoreEnvironment) {
    contents.withLock { contents in contents[Key(name, environment)] = nil }
  }
}
