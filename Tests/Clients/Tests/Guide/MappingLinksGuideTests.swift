import Coherence
import CoherenceMapping
import CoherenceModelMacros
import Testing

struct Painter: CoreModel, Equatable {
  let uid: String
  var name: String
}

struct Painting: CoreModel, Equatable {
  let uid: String
  var title: String
  var painter: Painter?
}

@Entity final class PainterRecord: ManagedObject {
  @Attribute(.unique) var uid: String
  var name: String
  @Relationship(deleteRule: .cascade) var paintings: ToMany<PaintingRecord>
}

@Entity final class PaintingRecord: ManagedObject {
  @Attribute(.unique) var uid: String
  var title: String
  @Relationship(inverse: \PainterRecord.paintings) var painter: PainterRecord?
}

extension PainterRecord: RecordFromModel, RecordToModel {
  typealias ModelType = Painter

  /// Returns the record of a painter, with the values of the model.
  static func record(of model: Painter, in context: ManagedObjectContext) throws -> PainterRecord {
    let uid = model.uid
    let stored = try context.fetch(FetchRequest(PainterRecord.self).filter { $0.uid == uid }).first
    let record = try stored ?? PainterRecord(context: context)
    record.fromModel(model)
    return record
  }

  func fromModel(_ model: Painter) {
    uid = model.uid
    name = model.name
  }

  func toModel() -> Painter { Painter(uid: uid, name: name) }
}

extension PaintingRecord: RecordFromModel, RecordToModel {
  typealias ModelType = Painting

  func fromModel(_ model: Painting) throws {
    uid = model.uid
    title = model.title
    guard let context = managedObjectContext else { return }
    painter = try model.painter.map { try PainterRecord.record(of: $0, in: context) }
  }

  func toModel() -> Painting { Painting(uid: uid, title: title, painter: painter?.toModel()) }
}

@Suite("The articles about mappings: links")
struct MappingLinksGuideTests {
  @Test func `a model in a model is a related record`() async throws {
    let manager = PersistenceManager(
      name: "Paintings", model: try ManagedObjectModel(PainterRecord.self, PaintingRecord.self),
      storeConfigurations: [StoreConfiguration(type: .inMemory)])
    try await manager.load()
    let frida = Painter(uid: "frida", name: "Frida Kahlo")
    let paintings = [
      Painting(uid: "1", title: "The Two Fridas", painter: frida),
      Painting(uid: "2", title: "Roots", painter: frida), Painting(uid: "3", title: "Unknown", painter: nil),
    ]
    let first = try await manager.save(entity: PaintingRecord.self, models: paintings, shouldOverwrite: false)
    #expect(first.inserted == 3)
    #expect(try await manager.fetchModels(entity: PainterRecord.self) == [frida])
    let again = try await manager.save(entity: PaintingRecord.self, models: paintings, shouldOverwrite: true)
    #expect(again.unchanged == 3)

    let order = [SortKey("uid")]
    #expect(
      try await manager.fetchModels(entity: PaintingRecord.self, predicate: nil, sortDescriptors: order) == paintings)
    // The delete rule of the relationship deletes the paintings with their painter.
    try await manager.delete(entity: PainterRecord.self, uid: "frida")
    #expect(try await manager.fetchModels(entity: PaintingRecord.self) == [paintings[2]])
  }
}
