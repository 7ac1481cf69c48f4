import CoherenceCore
import CoherenceMapping

struct Fruit: Sendable, Hashable, CoreModel {
  var uid: String
  var name: String
}

/// A fruit with synchronisation marks.
final class FruitRecord: ManagedObject {
  static let idKey = AttributeKey<String?>("id")
  static let nameKey = AttributeKey<String>("name")
  static let isUploadedKeyPath = AttributeKey<Bool>("isUploaded")
  static let wasDeletedKeyPath = AttributeKey<Bool>("wasDeleted")

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var isUploaded: Bool {
    get { self[Self.isUploadedKeyPath] }
    set { self[Self.isUploadedKeyPath] = newValue }
  }
  var wasDeleted: Bool {
    get { self[Self.wasDeletedKeyPath] }
    set {
      Self.onChange?(self)
      self[Self.wasDeletedKeyPath] = newValue
    }
  }
}

extension FruitRecord: RecordFromModel, RecordToModel, SyncRecord {
  typealias ModelType = Fruit
  static var entityName: String { "FruitRecord" }
  static var uidKey: String { "id" }
  static var sort: SortInfo? { SortInfo(columns: [SortColumn(key: "name")]) }
  static var isKnownToServerKey: String? { knowsServer ? "isKnown" : nil }
  /// Whether the class declares `isKnownToServerKey`. Bound for a test.
  @TaskLocal static var knowsServer = false
  /// Called before a record gets values or a mark of deletion. Bound for a test.
  @TaskLocal static var onChange: (@Sendable (FruitRecord) -> Void)?
  var uid: String { self[Self.idKey] ?? "" }

  func fromModel(_ model: Fruit) {
    Self.onChange?(self)
    self[Self.idKey] = model.uid
    name = model.name
  }

  func toModel() -> Fruit { Fruit(uid: uid, name: name) }
}

extension Fruit {
  static let four = [
    Fruit(uid: "1", name: "Durian"), Fruit(uid: "2", name: "Banana"), Fruit(uid: "3", name: "Mango"),
    Fruit(uid: "4", name: "Blackberry"),
  ]
}
