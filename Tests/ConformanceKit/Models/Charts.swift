import CoherenceCore
import Foundation

/// Entities with attributes derived from other records: paths, counts, sums, and extremes, over relationships of every
/// storage.
enum Charts {
  static let model = soundModel { entities }

  @EntitiesBuilder static var entities: [Entity] {
    Entity("Singer") {
      Attribute("name", .string, optional: true)
      Attribute("nameFold", .string, derived: .canonical("name"))
      Attribute("recordCount", .int64, derived: .count("records"))
      Relationship("records", toMany: "Record", inverse: "singer")
    }
    Entity("Record", uniqueness: [["code"]], indexes: [["songCount"]]) {
      Attribute("name", .string, optional: true)
      Attribute("code", .string, optional: true)
      Attribute("singerName", .string, derived: .path("singer.name"))
      Attribute("singerFold", .string, derived: .path("singer.nameFold"))
      Attribute("songCount", .int64, derived: .count("songs"))
      Attribute("length", .int64, derived: .sum("songs.length"))
      Attribute("price", .decimal, derived: .sum("songs.price"))
      Attribute("shortest", .int32, derived: .minimum("songs.length"))
      Attribute("longest", .int32, derived: .maximum("songs.length"))
      Attribute("mean", .double, derived: .average("songs.length"))
      Attribute("labelCount", .int64, derived: .count("labels"))
      Attribute("labelWeight", .double, derived: .sum("labels.weight"))
      Attribute("guestCount", .int64, derived: .count("guests"))
      Relationship("singer", toOne: "Singer", inverse: "records")
      Relationship("songs", toMany: "Song", inverse: "record", deleteRule: .cascade)
      Relationship("labels", toMany: "Label", inverse: "records")
      Relationship("guests", toMany: "Singer", inverse: nil)
    }
    Entity("LiveRecord", parent: "Record") {
      Attribute("encoreCount", .int64, derived: .count("encores"))
      Relationship("encores", toMany: "Song", inverse: "encoreOf", ordered: true)
    }
    Entity("Song", uniqueness: [["code"]]) {
      Attribute("name", .string, optional: true)
      Attribute("code", .string, optional: true)
      Attribute("length", .int32, optional: true)
      Attribute("price", .decimal, optional: true)
      Attribute("singerName", .string, derived: .path("record.singer.name"))
      Attribute("originalName", .string, derived: .path("original.name"))
      Relationship("record", toOne: "Record", inverse: "songs")
      Relationship("encoreOf", toOne: "LiveRecord", inverse: "encores")
      Relationship("original", toOne: "Song", inverse: nil, deleteRule: .noAction)
    }
    Entity("Label") {
      Attribute("name", .string, optional: true)
      Attribute("weight", .double, default: 1.0)
      Attribute("recordCount", .int64, derived: .count("records"))
      Relationship("records", toMany: "Record", inverse: "labels")
    }
  }
}

/// Computes the derived attributes of the model from the records of a context, independently of the stores.
struct ChartFacts {
  /// The first difference between stored and computed values, as a sentence; `nil` for none.
  static func difference(in context: ManagedObjectContext) throws -> String? {
    for entity in ["Singer", "Record", "Song", "Label"] {
      for object in try context.all(entity) {
        for (name, expected) in try values(of: object) {
          let found = try object.value(for: name)
          guard found != expected else { continue }
          return "'\(object.entity.name).\(name)' of '\(try object.label)' is \(found), not \(expected)"
        }
      }
    }
    return nil
  }

  private static func values(of object: ManagedObject) throws -> [String: AttributeValue] {
    switch object.entity.name {
    case "Singer": return ["recordCount": try count("records", of: object)]
    case "Label": return ["recordCount": try count("records", of: object)]
    case "Song":
      let singer = try object.object(for: "record")?.object(for: "singer")
      var values = ["singerName": try singer?.value(for: "name") ?? .null]
      if let original = try object.object(for: "original") {
        values["originalName"] = (try? original.load()) == nil ? .null : try original.value(for: "name")
      } else {
        values["originalName"] = .null
      }
      return values
    default: return try values(ofRecord: object)
    }
  }

  private static func values(ofRecord record: ManagedObject) throws -> [String: AttributeValue] {
    let songs = try record.objects(for: "songs")
    let lengths = try songs.compactMap { song -> Int64? in
      guard case .int(let length) = try song.value(for: "length") else { return nil }
      return length
    }
    let prices = try songs.compactMap { song -> Decimal? in
      guard case .decimal(let price) = try song.value(for: "price") else { return nil }
      return price
    }
    let weights = try record.objects(for: "labels").compactMap { label -> Double? in
      guard case .double(let weight) = try label.value(for: "weight") else { return nil }
      return weight
    }
    let singer = try record.object(for: "singer")
    let total = lengths.reduce(0, +)
    var values: [String: AttributeValue] = [
      "singerName": try singer?.value(for: "name") ?? .null,
      "singerFold": try singer?.value(for: "nameFold") ?? .null,
      "songCount": .int(Int64(songs.count)), "length": .int(total), "price": .decimal(prices.reduce(0, +)),
      "shortest": lengths.min().map(AttributeValue.int) ?? .null,
      "longest": lengths.max().map(AttributeValue.int) ?? .null,
      "mean": lengths.isEmpty ? .null : .double(Double(total) / Double(lengths.count)),
      "labelCount": try count("labels", of: record), "labelWeight": .double(weights.reduce(0, +)),
      "guestCount": try count("guests", of: record),
    ]
    if record.entity.name == "LiveRecord" { values["encoreCount"] = try count("encores", of: record) }
    return values
  }

  private static func count(_ relationship: String, of object: ManagedObject) throws -> AttributeValue {
    .int(Int64(try object.objects(for: relationship).count))
  }
}
