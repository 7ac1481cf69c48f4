import CoherenceCore
import Foundation
import Testing

/// Composites and codable attributes in typed expressions.
@Suite struct QueryCompositeTests {
  struct Point: CompositeValue, Equatable {
    var x: Double
    var y: Double

    struct Parts: CompositeParts {
      static let table = Parts()
      let x = PartKey<Double>("x")
      let y = PartKey<Double>("y")
    }
    static var compositeParts: [Attribute] {
      Attribute.parts("x", Double.self) + Attribute.parts("y", Double.self)
    }
    init(_ x: Double, _ y: Double) { (self.x, self.y) = (x, y) }
    init(reading parts: inout CompositeReader) {
      x = parts.read()
      y = parts.read()
    }
    func write(to parts: inout CompositeWriter) {
      parts.write(x)
      parts.write(y)
    }
  }

  struct Frame: CompositeValue, Equatable {
    var name: String?
    var origin: Point

    struct Parts: CompositeParts {
      static let table = Parts()
      let name = PartKey<String?>("name")
      let origin = PartKey<Point>("origin")
    }
    static var compositeParts: [Attribute] {
      Attribute.parts("name", String?.self) + Attribute.parts("origin", Point.self)
    }
    init(_ name: String?, _ origin: Point) { (self.name, self.origin) = (name, origin) }
    init(reading parts: inout CompositeReader) {
      name = parts.read()
      origin = parts.read()
    }
    func write(to parts: inout CompositeWriter) {
      parts.write(name)
      parts.write(origin)
    }
  }

  class Shape: ManagedObject, DeclaredEntity {
    struct Properties: EntityProperties {
      static let table = Properties()
      let number = AttributeKey<Int>("number")
      let frame = CompositeKey<Frame?>("frame")
      let tags = CodableKey<[String]?>("tags")
    }
    class var entityName: String { "Shape" }
    class var entityDeclaration: Entity {
      Entity(Shape.entityName, class: Shape.self) {
        Attribute("number", .int64)
        CompositeAttribute("frame", of: Frame?.self)
        Attribute("tags", .codable, optional: true)
      }
    }
    class var propertyNames: [AnyKeyPath: String] { [:] }
  }

  final class Circle: Shape {
    var center: Point {
      get { self[Circle.centerKey] }
      set { self[Circle.centerKey] = newValue }
    }
    static let centerKey = CompositeKey<Point>("center")
    override class var entityName: String { "Circle" }
    override class var entityDeclaration: Entity {
      Entity(Circle.entityName, class: Circle.self, parent: Shape.entityName) {
        CompositeAttribute("center", of: Point.self)
      }
    }
    override class var propertyNames: [AnyKeyPath: String] { [\Circle.center: "center"] }
  }

  private let context: ManagedObjectContext

  init() throws {
    context = ManagedObjectContext(
      coordinator: try PersistentStoreCoordinator(inMemory: ManagedObjectModel(Shape.self, Circle.self)))
    try context.performAndWait {
      let framed = try Shape(context: context)
      let key = Shape.Properties.table
      framed[key.number] = 1
      framed[key.frame] = Frame("A", Point(1, 2))
      framed[key.tags] = ["a"]
      let plain = try Shape(context: context)
      plain[key.number] = 2
      let circle = try Circle(context: context)
      circle[key.number] = 3
      circle.center = Point(5, 6)
      try context.save()
    }
  }

  private func numbers<Found: Shape>(_ request: FetchRequest<Found>) throws -> [Int] {
    try context.performAndWait { try context.fetch(request.sort("number")).map { $0[Shape.Properties.table.number] } }
  }

  @Test func `a composite is compared as a whole, and a missing composite with nil`() throws {
    let shapes = FetchRequest(Shape.self)
    #expect(try numbers(shapes.filter { $0.frame == Frame("A", Point(1, 2)) }) == [1])
    #expect(try numbers(shapes.filter { $0.frame == Frame(nil, Point(1, 2)) }) == [])
    #expect(try numbers(shapes.filter { $0.frame != Frame("A", Point(1, 2)) }) == [2, 3])
    #expect(try numbers(shapes.filter { $0.frame.isNil }) == [2, 3])
    #expect(try numbers(shapes.filter { $0.frame == nil }) == [2, 3])
  }

  @Test func `parts of composites are compared by their names`() throws {
    let shapes = FetchRequest(Shape.self)
    #expect(try numbers(shapes.filter { $0.frame["name", as: String.self].hasPrefix("A") }) == [1])
    #expect(try numbers(shapes.filter { $0.frame["origin.y", as: Double.self] > 1 }) == [1])
    #expect(try numbers(shapes.filter(try FetchPredicate(format: "frame.origin.y > 1"))) == [1])
    #expect(try numbers(FetchRequest(Circle.self).filter { $0.center["x", as: Double.self] == 5 }) == [3])
    #expect(try numbers(FetchRequest(Circle.self).filter { $0.center == Point(5, 7) }) == [])
  }

  @Test func `conditions look parts of composites up in the table of their type`() throws {
    let shapes = FetchRequest(Shape.self)
    #expect(try numbers(shapes.filter { $0.frame.name.hasPrefix("A") }) == [1])
    #expect(try numbers(shapes.filter { $0.frame.origin.y > 1 }) == [1])
    #expect(try numbers(shapes.filter { $0.frame.origin.y > 2 }) == [])
    #expect(try numbers(shapes.filter { $0.frame.origin == Point(1, 2) }) == [1])
    #expect(try numbers(shapes.filter { $0.frame.name.isNil }) == [2, 3])
    #expect(try numbers(FetchRequest(Circle.self).filter { $0.center.x == 5 && $0.frame.isNil }) == [3])
  }

  @Test func `orders name parts of composites by key paths`() throws {
    let shapes = FetchRequest(Shape.self).sort(\.frame.origin.y, .reverse).sort(\.frame.name)
    #expect(shapes.sortKeys.map(\.path.description) == ["frame.origin.y", "frame.name"])
    #expect(FetchRequest(Circle.self).sort(\.center.x).sortKeys.map(\.path.description) == ["center.x"])
    let found = try context.performAndWait {
      try context.fetch(shapes.sort(\.number)).map { $0[Shape.Properties.table.number] }
    }
    #expect(found == [1, 2, 3])
  }

  @Test func `a codable attribute is found by whether it has a value`() throws {
    #expect(try numbers(FetchRequest(Shape.self).filter { $0.tags.isNil }) == [2, 3])
    #expect(try numbers(FetchRequest(Shape.self).filter { !$0.tags.isNil }) == [1])
  }
}

extension QueryCompositeTests.Circle: DeclaredSubentity {}
