import CoherenceCore
import CoherenceMapping

struct GroceryProduct: Sendable, Hashable, Codable, CoreModel {
  var id: String
  var name: String
  var points = 0
  var details: String?

  var uid: String { id }
}

final class GroceryRecord: ManagedObject {
  static let idKey = AttributeKey<String?>("id")
  static let nameKey = AttributeKey<String?>("name")
  static let pointsKey = AttributeKey<Int>("points")
  static let detailsKey = AttributeKey<String?>("details")

  var id: String! {
    get { self[Self.idKey] }
    set { self[Self.idKey] = newValue }
  }
  var name: String! {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var points: Int {
    get { self[Self.pointsKey] }
    set { self[Self.pointsKey] = newValue }
  }
  var details: String? {
    get { self[Self.detailsKey] }
    set { self[Self.detailsKey] = newValue }
  }
}

extension GroceryRecord: RecordFromModel, RecordToModel {
  typealias ModelType = GroceryProduct
  static var entityName: String { "GroceryRecord" }
  static var uidKey: String { "id" }
  var uid: String { id ?? "" }
  /// Called by `fromModel`. Bound for a test.
  @TaskLocal static var onFromModel: (@Sendable (GroceryRecord) throws -> Void)?
  /// Called by `toModel`. Bound for a test.
  @TaskLocal static var onToModel: (@Sendable () -> Void)?

  func fromModel(_ model: GroceryProduct) throws {
    defer { details = model.details }
    id = model.id
    name = model.name
    points = model.points
    try Self.onFromModel?(self)
  }

  func toModel() -> GroceryProduct {
    Self.onToModel?()
    return GroceryProduct(id: id ?? "", name: name ?? "", points: points, details: details)
  }
}

extension GroceryProduct {
  static let banana = GroceryProduct(id: "1", name: "Banana", points: 200, details: "A banana, grown in Ecuador.")
  static let blackberry = GroceryProduct(id: "2", name: "Blackberry", points: 150)
  static let durian = GroceryProduct(id: "3", name: "Durian", points: 600, details: "A fruit with a smell.")
  static let mango = GroceryProduct(id: "4", name: "Mango", points: 300)
  static let acai = GroceryProduct(id: "5", name: "A\u{E7}a\u{ED}", points: 900)
  static let lime = GroceryProduct(id: "6", name: "Lime")
  static let four = [durian, banana, mango, blackberry]
}
