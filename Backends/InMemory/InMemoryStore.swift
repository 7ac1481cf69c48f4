import CoherenceCore

/// A store that keeps its records in memory. The simplest complete implementation of a store.
///
/// The content is one immutable value. A reader takes the present value at its first read; a save builds the next value
/// and replaces the present one. So a reader never waits for a save, and a save is atomic.
final class InMemoryStore: PersistentStore {
  let environment: StoreEnvironment
  let spaces: IDSpaces
  /// The content; `nil` once the store is closed, so that a shared content does not outlive its open stores.
  private let content: Locked<InMemoryContent?>

  init(environment: StoreEnvironment, content: InMemoryContent) {
    self.environment = environment
    self.spaces = content.schema.spaces
    self.content = Locked(content)
  }

  var capabilities: StoreCapabilities { .concurrentReads }

  func metadata() throws -> StoreMetadata { try openContent().metadata }

  func setUserInfo(_ userInfo: [String: String]) throws {
    try writableContent().change { $0.userInfo = userInfo }
  }

  func makeReader() throws -> any StoreReader {
    _ = try openContent()
    return InMemoryReader(self)
  }

  func close() { content.withLock { $0 = nil } }

  /// The content, for reading.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` once the store is closed.
  func openContent() throws -> InMemoryContent {
    guard let content = content.withLock({ $0 }) else {
      throw CoherenceError(.storeDetached, "The in-memory store was closed; attach a store again before using it.")
    }
    return content
  }

  /// The content, for changing.
  ///
  /// - Throws: ``ErrorCode/storeReadOnly`` when the store was opened for reading only, ``ErrorCode/storeDetached`` once
  ///   it is closed.
  func writableContent() throws -> InMemoryContent {
    let content = try openContent()
    guard !environment.isReadOnly else {
      throw CoherenceError(
        .storeReadOnly,
        "The in-memory store was opened with '\(StoreOption.readOnly)'; attach it without that option to change it.")
    }
    return content
  }
}
