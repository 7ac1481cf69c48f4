import CoherenceActions
import CoherenceCore
import CoherenceMapping
import Foundation
import Testing
import TestSupport
import TestRandom

/// A merge and a save of models are two ways to write the same record. All forms of their input must lead to the same
/// values, on every store.
@Suite("Merges and saves of models")
struct MergeAndMappingTests {
  private enum Writer: CustomStringConvertible {
    case merge(MergeInputFormTests.Form)
    case mapping
    case recordClass

    static let all = MergeInputFormTests.Form.allCases.map(Writer.merge) + [.mapping, .recordClass]

    var description: String {
      switch self {
      case .merge(let form): "merge of \(form)"
      case .mapping: "mapping"
      case .recordClass: "class of records"
      }
    }

    private var objectClass: ManagedObject.Type {
      if case .recordClass = self { return ItemRecord.self }
      return ManagedObject.self
    }

    func makeStack(_ backend: Backend) throws -> MergeStack {
      let stack = try MergeStack(backend, try FormItem.model(of: objectClass))
      try stack.merge(["jazz", "rock"].map { MergeRecord(["name": $0]) }, into: "Tag")
      try stack.merge([MergeRecord(["id": 1])], into: "Item")
      return stack
    }

    /// Writes an item over the stored one.
    ///
    /// - Returns: Whether the stored record was equal before.
    func write(_ item: FormItem, over stored: FormItem, _ stack: MergeStack) throws -> Bool {
      let manager = PersistenceManager(container: stack.connect)
      let models = [MappedItem(stored.merged(with: item))]
      let saved: SaveResult
      switch self {
      case .merge(let form):
        return try form.merge(item, into: stored, stack).counts == MergeResult.with(unchanged: 1)
      case .mapping: saved = try manager.save(MappedItem.mapping, models: models, shouldOverwrite: false)
      case .recordClass: saved = try manager.save(entity: ItemRecord.self, models: models, shouldOverwrite: false)
      }
      return saved.unchanged == 1 && saved.updated + saved.inserted + saved.deleted + saved.skipped == 0
    }
  }

  private func attributes(_ stack: MergeStack) throws -> [AttributeValue] {
    try stack.read { context in
      let item = try #require(try stack.objects("Item", context).first)
      return try FormItem.attributeNames.map { try item.value(for: $0) }
    }
  }

  @Test(arguments: Backend.available)
  func `a merge inserts into the empty stores that a persistence manager has put in the place of destroyed ones`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge([MergeRecord(["name": "jazz"])], into: "Genre")
    try PersistenceManager(container: stack.connect).destroy()
    #expect(stack.connect.isManaged(try stack.entity("Genre")))
    #expect(try stack.merge([MergeRecord(["name": "rock"])], into: "Genre").inserted == 1)
    #expect(try stack.read { try stack.objects("Genre", $0).count } == 1)
    try stack.connect.stop()
    try stack.connect.start()
    #expect(stack.connect.persistentStoreCoordinator.persistentStores.count == 1)
  }

  @Test func `every form of merge input and of saved models writes the same record, on every store`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = SeededRandom(seed: seed)
    let stacks = try Backend.available.flatMap { backend in
      try Writer.all.map { (name: "\($0), \(backend)", writer: $0, stack: try $0.makeStack(backend)) }
    }
    var stored = FormItem()
    for _ in 0..<15 {
      let item = FormItem.random(using: &random)
      let next = stored.merged(with: item)
      for (name, writer, stack) in stacks {
        _ = try writer.write(item, over: stored, stack)
        let isUnchanged = try writer.write(item, over: next, stack)
        #expect(isUnchanged, "\(name), seed \(seed)")
      }
      let records = try stacks.map { try attributes($0.stack) }
      for (index, record) in records.enumerated() {
        #expect(record == records[0], "\(stacks[index].name), seed \(seed)")
      }
      let born = try #require(FormItem.attributeNames.firstIndex(of: "born"))
      #expect(
        records[0][born] == FormItem.flat(next.born)?.roundedToMicroseconds().attributeValue ?? .null, "seed \(seed)")
      stored = next
    }
  }
}

/// An item as a model, which has a value or null for every attribute.
private struct MappedItem: Codable, Sendable, CoreModel {
  var id: Int32
  var name: String?
  var count: Int?
  var price: Double?
  var isActive: Bool?
  var token: UUID?
  var born: Date?
  var amount: Decimal?
  var picture: Data?
  var words: [String]?
  var width: Double?
  var height: Double?

  var uid: Int32 { id }

  init(_ item: FormItem) {
    id = item.id
    name = FormItem.flat(item.name)
    count = FormItem.flat(item.count)
    price = FormItem.flat(item.price)
    isActive = FormItem.flat(item.isActive)
    token = FormItem.flat(item.token)
    born = FormItem.flat(item.born)
    amount = FormItem.flat(item.amount)
    picture = FormItem.flat(item.picture)
    words = FormItem.flat(item.words)
    width = FormItem.flat(item.size)?.width
    height = FormItem.flat(item.size)?.height
  }

  static let mapping = Mapping<MappedItem>("Item", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("count", \.count)
    Field("price", \.price)
    Field("isActive", \.isActive)
    Field("token", \.token)
    Field("born", \.born)
    Field("amount", \.amount)
    Field("picture", \.picture)
    Field("words", json: \.words)
    Field("size.width", \.width, codingKey: "width")
    Field("size.height", \.height, codingKey: "height")
  }
}

private final class ItemRecord: ManagedObject, RecordFromModel {
  typealias ModelType = MappedItem
  static let idAttribute = AttributeKey<Int32>("id")
  static var entityName: String { "Item" }
  static var uidKey: String { "id" }
  var uid: Int32 { self[Self.idAttribute] }

  func fromModel(_ model: MappedItem) throws {
    try setValue(model.id, for: "id")
    try setValue(model.name, for: "name")
    try setValue(model.count, for: "count")
    try setValue(model.price, for: "price")
    try setValue(model.isActive, for: "isActive")
    try setValue(model.token, for: "token")
    try setValue(model.born, for: "born")
    try setValue(model.amount, for: "amount")
    try setValue(model.picture, for: "picture")
    try setCodable(model.words, for: "words")
    try setValue(model.width, for: "size.width")
    try setValue(model.height, for: "size.height")
  }
}
