import CoherenceCore
import Foundation

/// Entities with composites, codable attributes, durations and derived attributes, read by typed accessors.
enum Parcels {
  static let model = soundModel {
    Entity("Parcel", class: Parcel.self) {
      Attribute("name", .string, optional: true)
      CompositeAttribute("size", of: Extent.self, default: Extent(width: 1, height: nil, corner: Corner(x: 2, y: 3)))
      CompositeAttribute("cover", of: Extent?.self)
      // The parts have another order than in the type.
      CompositeAttribute("place", parts: Corner?.compositeParts.reversed())
      Attribute("tags", codable: [String].self, default: ["new"])
      Attribute("contents", codable: Contents?.self)
      Attribute("journey", Duration.attributeType, optional: true)
    }
    Entity("Letter", class: Letter.self, parent: "Parcel") {
      Attribute("nameFold", .string, derived: .canonical("name"))
      Attribute("nameBig", .string, derived: .uppercase("name"))
      Attribute("nameSmall", .string, derived: .lowercase("name"))
      Attribute("savedAt", .date, derived: .now)
      Attribute("weight", .int32, optional: true)
    }
  }
}

struct Corner: CompositeValue, Codable, Equatable {
  var x: Int32
  var y: Int64

  init(x: Int32, y: Int64) {
    self.x = x
    self.y = y
  }

  static var compositeParts: [Attribute] { Attribute.parts("x", Int32.self) + Attribute.parts("y", Int64.self) }
  init(reading parts: inout CompositeReader) {
    x = parts.read()
    y = parts.read()
  }
  func write(to parts: inout CompositeWriter) {
    parts.write(x)
    parts.write(y)
  }
}

struct Extent: CompositeValue, Equatable {
  var width: Double
  var height: Double?
  var corner: Corner?

  init(width: Double, height: Double?, corner: Corner?) {
    self.width = width
    self.height = height
    self.corner = corner
  }

  static var compositeParts: [Attribute] {
    Attribute.parts("width", Double.self) + Attribute.parts("height", Double?.self)
      + Attribute.parts("corner", Corner?.self)
  }
  init(reading parts: inout CompositeReader) {
    width = parts.read()
    height = parts.read()
    corner = parts.read()
  }
  func write(to parts: inout CompositeWriter) {
    parts.write(width)
    parts.write(height)
    parts.write(corner)
  }
}

struct Contents: Codable, Equatable {
  var names: [String]
}

class Parcel: ManagedObject {
  static let nameKey = AttributeKey<String?>("name")
  static let sizeKey = CompositeKey<Extent>("size")
  static let coverKey = CompositeKey<Extent?>("cover")
  static let placeKey = CompositeKey<Corner>("place")
  static let tagsKey = CodableKey<[String]>("tags")
  static let contentsKey = CodableKey<Contents?>("contents")
  static let journeyKey = AttributeKey<Duration>("journey")

  var name: String? {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var size: Extent {
    get { self[Self.sizeKey] }
    set { self[Self.sizeKey] = newValue }
  }
  var cover: Extent? {
    get { self[Self.coverKey] }
    set { self[Self.coverKey] = newValue }
  }
  var place: Corner {
    get { self[Self.placeKey] }
    set { self[Self.placeKey] = newValue }
  }
  var tags: [String] {
    get { self[Self.tagsKey] }
    set { self[Self.tagsKey] = newValue }
  }
  var contents: Contents? {
    get { self[Self.contentsKey] }
    set { self[Self.contentsKey] = newValue }
  }
  var journey: Duration {
    get { self[Self.journeyKey] }
    set { self[Self.journeyKey] = newValue }
  }
}

final class Letter: Parcel {
  static let foldKey = AttributeKey<String?>("nameFold")
  static let savedAtKey = AttributeKey<Date?>("savedAt")

  var fold: String? { self[Self.foldKey] }
  var savedAt: Date? { self[Self.savedAtKey] }

  override func initializeDefaults() {
    super.initializeDefaults()
    journey = .seconds(1)
  }
}
