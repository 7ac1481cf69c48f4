import CoherenceInMemory
import CoherenceModelMacros
import Testing

enum PaperUnit: String, CaseIterable, AttributeConvertible {
  case millimetre, centimetre
}

/// A composite whose parts have defaults.
@Composite struct Paper: Sendable, Equatable {
  var width = 21.0
  var unit: PaperUnit = .centimetre
  var corner = Origin(x: 1, y: 2)
  var note: String? = "new"
}

@Entity final class Page: ManagedObject {
  var number = 0
  @Attribute(.composite) var paper: Paper
  @Attribute(.composite) var cover: Paper?
}

/// Defaults and typed expressions of the parts of composites.
@Suite struct CompositeDefaultTests {
  private let context: ManagedObjectContext

  init() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel(Page.self))
    try coordinator.addPersistentStore(type: .inMemory)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  @Test func `a new object has the defaults of the parts, and no optional composite`() throws {
    try context.performAndWait {
      let page = try Page(context: context)
      #expect(page.paper == Paper(width: 21, unit: .centimetre, corner: Origin(x: 1, y: 2), note: "new"))
      #expect(page.cover == nil)
      try context.save()
      context.refreshAll()
      #expect(page.paper == Paper())
      #expect(page.cover == nil)
    }
  }

  @Test func `a missing part of a present composite reads as the part's default`() throws {
    try context.performAndWait {
      let page = try Page(context: context)
      page.cover = Paper(width: 3, unit: .millimetre, corner: Origin(x: 4, y: 5), note: nil)
      #expect(page.cover?.note == nil)
      for name in ["cover.width", "cover.corner.x", "cover.corner.y"] { try page.setValue(nil, for: name) }
      #expect(page.cover == Paper(width: 21, unit: .millimetre, corner: Origin(x: 1, y: 2), note: nil))
    }
  }

  @Test func `conditions and orders use the table that the macro writes`() throws {
    try context.performAndWait {
      for number in 1...3 {
        let page = try Page(context: context)
        page.number = number
        page.paper.width = Double(10 - number)
        page.cover = number == 2 ? Paper() : nil
      }
      try context.save()
      let wide = FetchRequest(Page.self).filter { $0.paper.width > 7 && $0.paper.corner.x == 1 }.sort(\.paper.width)
      #expect(try context.fetch(wide).map(\.number) == [2, 1])
      let covered = FetchRequest(Page.self).filter { $0.cover.unit == .centimetre }
      #expect(try context.fetch(covered).map(\.number) == [2])
    }
  }
}
