import CoherenceCore
import Synchronization

/// The skeleton after the first step of its author: it allocates keys.
final class KeyedSkeletonStore: PersistentStore {
  private let skeleton: SkeletonStore
  private let lastKey = Atomic<Int64>(0)

  init(_ environment: StoreEnvironment) { skeleton = SkeletonStore(environment) }

  var environment: StoreEnvironment { skeleton.environment }
  var spaces: IDSpaces { skeleton.spaces }
  var capabilities: StoreCapabilities { skeleton.capabilities }

  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    let last = lastKey.add(Int64(count), ordering: .relaxed).newValue
    return (last - Int64(count) + 1)..<(last + 1)
  }

  func metadata() throws -> StoreMetadata { try skeleton.metadata() }
  func setUserInfo(_ userInfo: [String: String]) throws { try skeleton.setUserInfo(userInfo) }
  func makeReader() throws -> any StoreReader { try skeleton.makeReader() }
  func save(_ request: StoreSaveRequest) throws { try skeleton.save(request) }
  func close() { skeleton.close() }
}
