import CoherenceCore
import Foundation

/// A harness of minimal stores on top of another backend. The stores leave every predicate, order, limit, count and
/// batch request to Core.
public struct BareHarness: StoreHarness {
  private let base: any StoreHarness

  public init(on base: any StoreHarness) { self.base = base }

  public var name: String { "Bare \(base.name)" }
  public func makeLocation() throws -> any StoreLocation { BareLocation(base: try base.makeLocation()) }
}

private final class BareLocation: StoreLocation {
  private let base: any StoreLocation
  let type: StoreType

  init(base: any StoreLocation) {
    self.base = base
    type = StoreType("Bare", factory: base.type.factory.map { BareFactory(base: $0) })
  }

  var url: URL? { base.url }
  var options: [String: OptionValue] { base.options }
  func willOpen(_ environment: StoreEnvironment) throws { try base.willOpen(environment) }
  func destroy() throws { try base.destroy() }
}

private struct BareFactory: StoreFactory {
  let base: any StoreFactory
  var usesFiles: Bool { base.usesFiles }
  func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    BareStore(base: try base.open(environment))
  }
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { try base.metadata(environment) }
  func setAside(_ environment: StoreEnvironment) throws -> String { try base.setAside(environment) }
}

private final class BareStore: PersistentStore {
  private let base: any PersistentStore

  init(base: any PersistentStore) { self.base = base }

  var environment: StoreEnvironment { base.environment }
  var spaces: IDSpaces { base.spaces }
  var capabilities: StoreCapabilities { base.capabilities }
  func metadata() throws -> StoreMetadata { try base.metadata() }
  func setUserInfo(_ userInfo: [String: String]) throws { try base.setUserInfo(userInfo) }
  func makeReader() throws -> any StoreReader { BareReader(base: try base.makeReader()) }
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    try base.allocateKeys(count, for: root)
  }
  func save(_ request: StoreSaveRequest) throws { try base.save(request) }
  func close() { base.close() }
}

private final class BareReader: StoreReader {
  private let base: any StoreReader

  init(base: any StoreReader) { self.base = base }

  func fetch(_ query: StoreQuery) throws -> StoreFetch {
    let everything = StoreQuery(entity: query.entity, includesSubentities: query.includesSubentities)
    let cursor = try base.fetch(everything).cursor
    return StoreFetch(isPredicateExact: false, isOrderExact: false, isRangeExact: false, cursor: cursor)
  }

  func row(_ key: Int64, of root: EntityDescription) throws -> Row? { try base.row(key, of: root) }
  func rows(_ keys: [Int64], of root: EntityDescription) throws -> [Row] { try base.rows(keys, of: root) }
  func links(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    try base.links(table, of: keys, fromSource: fromSource)
  }
  func count(_ query: StoreQuery) throws -> Int? { nil }
  func finish() { base.finish() }
}
