import CoherenceCore
import Synchronization

/// A store on a notebook.
final class NotebookStore: PersistentStore {
  let environment: StoreEnvironment
  let spaces: IDSpaces
  private let notebook: Notebook
  private let isClosed = Mutex(false)

  init(notebook: Notebook, identifier: StoreIdentifier, environment: StoreEnvironment) {
    self.notebook = notebook
    self.environment = environment
    spaces = IDSpaces(store: identifier, model: environment.model)
  }

  var capabilities: StoreCapabilities { .concurrentReads }

  func metadata() throws -> StoreMetadata { try content().metadata }

  func setUserInfo(_ userInfo: [String: String]) throws { try change { $0.metadata.userInfo = userInfo } }

  func makeReader() throws -> any StoreReader {
    _ = try content()
    return NotebookReader(store: self)
  }

  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    try change { content in
      let first = content.lastKeys[root.name, default: 0] + 1
      content.lastKeys[root.name] = first + Int64(count) - 1
      return first..<(first + Int64(count))
    }
  }

  func save(_ request: StoreSaveRequest) throws {
    try change { content in
      try content.apply(request, environment, spaces)
      try NotebookProof(content: content, environment: environment, spaces: spaces).check()
      try request.checkMemberCounts(in: spaces) { relationship, owner in
        content[relationship.entity, owner] == nil ? nil : content.memberCount(of: relationship, owner)
      }
    }
  }

  func close() { isClosed.withLock { $0 = true } }

  /// The current content.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` once the store is closed.
  func content() throws -> NotebookContent {
    guard !isClosed.withLock({ $0 }), let content = notebook.present else {
      throw CoherenceError(.storeDetached, "The store was closed; attach it again before using it.")
    }
    return content
  }

  private func change<Result>(_ body: (inout NotebookContent) throws -> Result) throws -> Result {
    _ = try content()
    guard !environment.isReadOnly else {
      throw CoherenceError(
        .storeReadOnly, "The notebook was opened read-only; attach it without '\(StoreOption.readOnly)' to change it.")
    }
    return try notebook.change(body)
  }
}
