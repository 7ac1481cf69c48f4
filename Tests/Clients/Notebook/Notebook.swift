import CoherenceCore
import Foundation
import Synchronization

/// A location with records in plain dictionaries behind a lock. The records live as long as the notebook.
///
/// It shows how little a store needs: it evaluates no predicate, sorts nothing and has no index, and leaves all of that
/// to Core. Its content does not refer to the model's descriptions, so stores of several coordinators can be open on
/// one notebook.
///
/// ```swift
/// let notebook = Notebook()
/// try coordinator.addPersistentStore(type: notebook.storeType)
/// ```
public final class Notebook: Sendable {
  private let content = Mutex<NotebookContent?>(nil)
  private let archive = Mutex<[NotebookContent]>([])

  public init() {}

  /// The type of stores that write into this notebook.
  public var storeType: StoreType { StoreType("Notebook", factory: NotebookFactory(notebook: self)) }

  /// The content; `nil` before a store was opened here for the first time.
  var present: NotebookContent? { content.withLock { $0 } }

  /// Creates the content unless it exists.
  ///
  /// - Throws: ``ErrorCode/incompatibleModel`` if the content has other entities.
  func prepare(for environment: StoreEnvironment) throws -> StoreIdentifier {
    try content.withLock { content in
      let identifier = content?.metadata.identifier ?? StoreIdentifier(UUID().uuidString)
      let expected = environment.freshMetadata(identifier: identifier)
      if let found = content?.metadata.versionHashes { try check(found, against: expected.versionHashes) }
      if content == nil { content = NotebookContent(metadata: expected) }
      return identifier
    }
  }

  private func check(_ found: [String: String], against expected: [String: String]) throws {
    let names = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }
    guard !names.isEmpty else { return }
    throw CoherenceError(
      .incompatibleModel,
      "The notebook was written with another model and cannot be migrated; these entities differ: "
        + "\(names.sorted().joined(separator: ", ")). Open it with its own model, or take a fresh notebook.")
  }

  /// Changes the content as a whole, or, when the closure throws, not at all.
  func change<Result>(_ body: (inout NotebookContent) throws -> Result) throws -> Result {
    try content.withLock { content in
      guard var next = content else {
        throw CoherenceError(.storeDetached, "The notebook was set aside; open the store again.")
      }
      let result = try body(&next)
      content = next
      return result
    }
  }

  /// Sets the content aside and starts with an empty notebook.
  ///
  /// - Returns: The number of contents set aside so far.
  func setAside() -> Int {
    let old = content.withLock { content in
      defer { content = nil }
      return content
    }
    return archive.withLock { archive in
      if let old { archive.append(old) }
      return archive.count
    }
  }
}

/// Opens stores on a notebook.
struct NotebookFactory: StoreFactory {
  let notebook: Notebook

  var usesFiles: Bool { false }

  func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    NotebookStore(notebook: notebook, identifier: try notebook.prepare(for: environment), environment: environment)
  }

  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { notebook.present?.metadata }

  func setAside(_ environment: StoreEnvironment) throws -> String { "content \(notebook.setAside()) of the archive" }
}
