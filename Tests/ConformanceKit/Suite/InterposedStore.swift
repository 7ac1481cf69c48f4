import CoherenceCore
import Foundation
import Synchronization

/// Intercepts the calls between Core and the store under test: counts the calls and their overlaps, and fails them on
/// request.
final class Interposition: Sendable {
  typealias Hook = @Sendable (StoreSaveRequest) throws -> Void

  private struct State {
    var saveCount = 0
    var fetchCount = 0
    var rowCount = 0
    var openCursorCount = 0
    var openReaders: Set<ObjectIdentifier> = []
    var overlapCount = 0
    var exclusionCount = 0
    var beforeSave: Hook?
    var afterSave: Hook?
    var beforeFetch: (@Sendable () throws -> Void)?
    var beforeRow: (@Sendable () throws -> Void)?
    var afterBatch: (@Sendable () throws -> Void)?
  }
  private let state = Mutex(State())

  /// The number of saves that Core requested.
  var saveCount: Int { state.withLock { $0.saveCount } }
  /// The number of fetches and reads that Core requested.
  var fetchCount: Int { state.withLock { $0.fetchCount } }

  /// The number of rows that Core read from fetches.
  var rowCount: Int { state.withLock { $0.rowCount } }

  /// The number of open cursors: neither read to the end nor closed.
  var openCursorCount: Int { state.withLock { $0.openCursorCount } }

  /// The number of readers that have read and are not finished.
  var openReaderCount: Int { state.withLock { $0.openReaders.count } }

  /// The number of requests by Core that need another connection while a reader has one.
  var overlapCount: Int { state.withLock { $0.overlapCount } }

  /// Whether a caller of the store keeps other writers out.
  var isExcludingWriters: Bool { state.withLock { $0.exclusionCount > 0 } }

  /// Called before a save of the store. A thrown error prevents the save.
  func beforeSave(_ hook: Hook?) { state.withLock { $0.beforeSave = hook } }
  /// Called after the store has saved.
  func afterSave(_ hook: Hook?) { state.withLock { $0.afterSave = hook } }
  /// Called before the store is asked to fetch.
  func beforeFetch(_ hook: (@Sendable () throws -> Void)?) { state.withLock { $0.beforeFetch = hook } }
  /// Called before the store is asked for the row of a key.
  func beforeRow(_ hook: (@Sendable () throws -> Void)?) { state.withLock { $0.beforeRow = hook } }
  /// Called after a cursor has returned rows. A thrown error discards the rows.
  func afterBatch(_ hook: (@Sendable () throws -> Void)?) { state.withLock { $0.afterBatch = hook } }

  /// Returns a store type that opens stores of another type behind this interposition.
  ///
  /// - Parameters:
  ///   - excludesWriters: Whether the stores keep their ability to exclude writers, of all optional ones.
  ///   - capabilities: The capabilities of the stores; `nil` for those of the stores behind.
  func type(
    for base: StoreType, excludesWriters: Bool = false, capabilities: StoreCapabilities? = nil
  ) throws -> StoreType {
    let factory = try StoreRegistry.current.factory(for: base)
    return StoreType(
      "Interposed\(base.name)",
      factory: Factory(
        base: base, factory: factory, interposition: self, excludesWriters: excludesWriters, capabilities: capabilities
      ))
  }

  fileprivate func save(_ request: StoreSaveRequest, to store: any PersistentStore) throws {
    willUseAnotherConnection()
    let hooks = state.withLock {
      $0.saveCount += 1
      return ($0.beforeSave, $0.afterSave)
    }
    try hooks.0?(request)
    try store.save(request)
    try hooks.1?(request)
  }

  fileprivate func willFetch(by reader: any StoreReader) throws {
    let hook = state.withLock { state in
      state.fetchCount += 1
      // A reader gets its connection at its first read.
      if !state.openReaders.contains(ObjectIdentifier(reader)), !state.openReaders.isEmpty { state.overlapCount += 1 }
      state.openReaders.insert(ObjectIdentifier(reader))
      return state.beforeFetch
    }
    try hook?()
  }

  fileprivate func willReadRow(by reader: any StoreReader) throws {
    try willFetch(by: reader)
    try state.withLock { $0.beforeRow }?()
  }

  fileprivate func didFinish(_ reader: any StoreReader) {
    state.withLock { _ = $0.openReaders.remove(ObjectIdentifier(reader)) }
  }

  fileprivate func willUseAnotherConnection() {
    state.withLock { if !$0.openReaders.isEmpty { $0.overlapCount += 1 } }
  }

  fileprivate func noteExclusion<T>(_ body: () throws -> T) rethrows -> T {
    state.withLock { $0.exclusionCount += 1 }
    defer { state.withLock { $0.exclusionCount -= 1 } }
    return try body()
  }

  fileprivate func didTake(_ count: Int) throws {
    let hook = state.withLock { state in
      state.rowCount += count
      return state.afterBatch
    }
    try hook?()
  }

  fileprivate func didOpenCursor() { state.withLock { $0.openCursorCount += 1 } }
  fileprivate func didEndCursor() { state.withLock { $0.openCursorCount -= 1 } }

  private struct Factory: StoreFactory {
    let base: StoreType
    let factory: any StoreFactory
    let interposition: Interposition
    let excludesWriters: Bool
    let capabilities: StoreCapabilities?

    var usesFiles: Bool { factory.usesFiles }

    private func based(_ environment: StoreEnvironment) -> StoreEnvironment {
      var environment = environment
      environment.type = base
      return environment
    }

    func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
      let store = try factory.open(based(environment))
      guard excludesWriters, let excluding = store as? any WriterExcluding else {
        return InterposedStore(base: store, interposition: interposition, capabilities: capabilities)
      }
      return ExcludingStore(excluding, interposition: interposition)
    }
    func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
      try factory.metadata(based(environment))
    }
    func setAside(_ environment: StoreEnvironment) throws -> String { try factory.setAside(based(environment)) }
  }
}

/// A store with only the required members of the protocol, so that Core's fallbacks run too.
private class InterposedStore: PersistentStore, @unchecked Sendable {
  // Sendable: every property is immutable and Sendable; the compiler cannot check a class with subclasses.

  let base: any PersistentStore
  let interposition: Interposition

  let capabilities: StoreCapabilities

  init(base: any PersistentStore, interposition: Interposition, capabilities: StoreCapabilities? = nil) {
    self.base = base
    self.interposition = interposition
    self.capabilities = capabilities ?? base.capabilities
  }

  var environment: StoreEnvironment { base.environment }
  var spaces: IDSpaces { base.spaces }
  func metadata() throws -> StoreMetadata { try base.metadata() }
  func setUserInfo(_ userInfo: [String: String]) throws { try base.setUserInfo(userInfo) }
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    interposition.willUseAnotherConnection()
    return try base.allocateKeys(count, for: root)
  }
  func makeReader() throws -> any StoreReader {
    InterposedReader(base: try base.makeReader(), interposition: interposition)
  }
  func save(_ request: StoreSaveRequest) throws { try interposition.save(request, to: base) }
  func close() { base.close() }
}

/// A store with the required members of the protocol, and the exclusion of writers.
private final class ExcludingStore: InterposedStore, WriterExcluding, @unchecked Sendable {
  // Sendable: as the base class is.
  private let excluding: any WriterExcluding

  init(_ excluding: any WriterExcluding, interposition: Interposition) {
    self.excluding = excluding
    super.init(base: excluding, interposition: interposition)
  }

  func excludingWriters<T>(_ body: () throws -> T) throws -> T {
    try excluding.excludingWriters { try interposition.noteExclusion(body) }
  }
  func excludingWriters<T>(timeout: Duration?, _ body: () throws -> T) throws -> T {
    try excluding.excludingWriters(timeout: timeout) { try interposition.noteExclusion(body) }
  }
}

private final class InterposedReader: YieldingReader {
  let base: any StoreReader
  let interposition: Interposition

  init(base: any StoreReader, interposition: Interposition) {
    self.base = base
    self.interposition = interposition
  }

  func fetch(_ query: StoreQuery) throws -> StoreFetch {
    try interposition.willFetch(by: self)
    var fetch = try base.fetch(query)
    fetch.cursor = InterposedCursor(base: fetch.cursor, interposition: interposition)
    interposition.didOpenCursor()
    return fetch
  }
  func row(_ key: Int64, of root: EntityDescription) throws -> Row? {
    try interposition.willReadRow(by: self)
    return try base.row(key, of: root)
  }
  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] {
    try interposition.willFetch(by: self)
    return try base.rows(keys, of: root)
  }
  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    try interposition.willFetch(by: self)
    return try base.links(table, of: keys, fromSource: fromSource)
  }
  func count(_ query: StoreQuery) throws -> Int? {
    try interposition.willFetch(by: self)
    return try base.count(query)
  }
  /// The state hold of the store, for its pool of connections. Core has no fallback for it.
  var hold: StateHold? {
    get { (base as? any YieldingReader)?.hold }
    set { (base as? any YieldingReader)?.hold = newValue }
  }
  var stateNumber: Int { (base as? any YieldingReader)?.stateNumber ?? 0 }
  func offerToSave() -> Bool {
    guard let base = base as? any YieldingReader, base.offerToSave() else { return false }
    interposition.didFinish(self)
    return true
  }

  func finish() {
    interposition.didFinish(self)
    base.finish()
  }
}

private final class InterposedCursor: RowCursor {
  let base: any RowCursor
  let interposition: Interposition

  init(base: any RowCursor, interposition: Interposition) {
    self.base = base
    self.interposition = interposition
  }

  func next(into rows: inout [Row]) throws -> Bool {
    let count = rows.count
    guard try base.next(into: &rows) else {
      interposition.didEndCursor()
      return false
    }
    try interposition.didTake(rows.count - count)
    return true
  }
  func close() {
    interposition.didEndCursor()
    base.close()
  }
}

extension ConformanceStack {
  /// Opens the case's store again with something in between.
  ///
  /// - Parameters:
  ///   - excludesWriters: Whether the store keeps its ability to exclude writers, of all optional ones.
  ///   - capabilities: The capabilities of the store; `nil` for its own.
  func interpose(excludesWriters: Bool = false, capabilities: StoreCapabilities? = nil) throws -> Interposition {
    let interposition = Interposition()
    try reopen(
      type: try interposition.type(
        for: location.type, excludesWriters: excludesWriters, capabilities: capabilities))
    return interposition
  }
}
