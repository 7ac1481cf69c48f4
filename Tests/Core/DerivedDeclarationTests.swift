import CoherenceCore
import Testing

/// The errors of invalid derived attributes and defaults, and the descriptions of valid ones.
@Suite struct DerivedDeclarationTests {
  private func fault(_ properties: [any PropertyDeclaration]) -> String? {
    var entity = Entity("Track")
    entity.properties = [Attribute("name", .string), Attribute("length", .int64)] + properties
    do {
      _ = try ManagedObjectModel(entities: [entity])
      return nil
    } catch {
      return (error as? CoherenceError)?.message
    }
  }

  @Test func `a derived attribute needs a text of its own entity`() {
    #expect(fault([Attribute("fold", .string, derived: .canonical("name"))]) == nil)
    let path = fault([Attribute("fold", .string, derived: .canonical("artist.name"))])
    #expect(path?.contains("'artist.name'") == true)
    #expect(path?.contains("take it over by a path") == true)
    #expect(fault([Attribute("fold", .string, derived: .lowercase("length"))])?.contains("no text") == true)
    let chain = fault([
      Attribute("fold", .string, derived: .canonical("name")), Attribute("big", .string, derived: .uppercase("fold")),
    ])
    #expect(chain?.contains("derived itself") == true)
  }

  /// The fault of an attribute of albums, which have tracks and an artist; `nil` for none.
  private func albumFault(_ attribute: Attribute, unique: [[String]] = []) -> String? {
    do {
      _ = try ManagedObjectModel {
        Entity("Album", uniqueness: unique) {
          attribute
          Relationship("tracks", toMany: "Track", inverse: "album")
          Relationship("artist", toOne: "Artist", inverse: "albums")
        }
        Entity("Track") {
          Attribute("name", .string)
          Attribute("length", .int32)
          Attribute("data", .data)
          Attribute("artistName", .string, derived: .path("album.artist.name"))
          Relationship("album", toOne: "Album", inverse: "tracks")
        }
        Entity("Artist") {
          Attribute("name", .string)
          CompositeAttribute("birth", parts: [Attribute("year", .int32, optional: true)])
          Relationship("albums", toMany: "Album", inverse: "artist")
        }
      }
      return nil
    } catch {
      return (error as? CoherenceError)?.message
    }
  }

  @Test(arguments: [
    Attribute("x", .string, derived: .path("artist.name")), Attribute("x", .int32, derived: .path("artist.birth.year")),
    Attribute("x", .int64, derived: .count("tracks")), Attribute("x", .int64, derived: .sum("tracks.length")),
    Attribute("x", .int32, derived: .minimum("tracks.length")),
    Attribute("x", .string, derived: .maximum("tracks.name")),
    Attribute("x", .double, derived: .average("tracks.length")),
  ])
  func `an attribute is derived from other records by a path or from the members of a relationship`(
    attribute: Attribute
  ) {
    #expect(albumFault(attribute) == nil)
  }

  @Test(arguments: [
    (Attribute("x", .string, derived: .path("name")), "no path over relationships"),
    (Attribute("x", .string, derived: .path("artist.nose")), "ends at no attribute of 'Artist'"),
    (Attribute("x", .string, derived: .path("tracks.name")), "derive their number or their sum"),
    (Attribute("x", .int64, derived: .path("artist.name")), "of type string"),
    (Attribute("x", .int64, derived: .count("artist.albums")), "not one to-many relationship"),
    (Attribute("x", .int64, derived: .count("artist")), "not one to-many relationship"),
    (Attribute("x", .int64, derived: .count("tracks.length")), "name it alone"),
    (Attribute("x", .int32, derived: .count("tracks")), "of type int64"),
    (Attribute("x", .int32, derived: .sum("tracks.length")), "of type int64"),
    (Attribute("x", .string, derived: .sum("tracks.name")), "use numbers"),
    (Attribute("x", .data, derived: .maximum("tracks.data")), "use numbers"),
    (Attribute("x", .int64, derived: .sum("tracks.album.length")), "not one to-many relationship"),
    (Attribute("x", .string, derived: .minimum("tracks.artistName")), "derived from other records itself"),
  ])
  func `a derivation rule that does not fit the members or the path is refused, and the error advises the user`(
    attribute: Attribute, part: String
  ) {
    let message = albumFault(attribute)
    #expect(message?.contains(part) == true && message?.contains("'Album.x'") == true, "\(message ?? "none")")
  }

  @Test func `an attribute derived from other records cannot be unique`() {
    let message = albumFault(Attribute("x", .int64, derived: .count("tracks")), unique: [["x"]])
    #expect(message?.contains("cannot be unique") == true)
  }

  @Test func `a derived attribute has the type of its rule and nothing that an assigned value needs`() {
    #expect(fault([Attribute("fold", .date, derived: .canonical("name"))])?.contains("of type string") == true)
    #expect(fault([Attribute("saved", .string, derived: .now)])?.contains("of type date") == true)
    #expect(fault([Attribute("fold", .string, default: "x", derived: .canonical("name"))])?.contains("default") == true)
    let part = Attribute("fold", .string, derived: .canonical("name"))
    #expect(fault([CompositeAttribute("size", parts: [part])])?.contains("'Track.size.fold'") == true)
  }

  @Test func `the rule of a derived attribute is a part of the version hash`() throws {
    func hash(_ rule: Derivation?) throws -> VersionHash {
      try ManagedObjectModel {
        Entity("Track") {
          Attribute("name", .string)
          Attribute("fold", .string, optional: true, derived: rule)
        }
      }.entities[0].versionHash
    }
    let hashes = try [hash(nil), hash(.canonical("name")), hash(.lowercase("name")), hash(.uppercase("name"))]
    #expect(Set(hashes).count == 4)
    #expect(try hash(.canonical("name")) == hashes[1])
  }

  @Test func `a model refuses a default without an encoding`() {
    #expect(fault([Attribute("numbers", codable: [Double].self, default: [.nan])])?.contains("'Track.numbers'") == true)
    #expect(fault([Attribute("numbers", codable: [Double].self, default: [1])]) == nil)
  }

  @Test func `the type of a codable attribute decides whether it is optional`() throws {
    let model = try ManagedObjectModel {
      Entity("Track") {
        Attribute("tags", codable: [String].self)
        Attribute("notes", codable: [String]?.self)
      }
    }
    let attributes = model.entities[0].attributes
    #expect(attributes.map(\.isOptional) == [false, true])
    #expect(attributes.map(\.type) == [.codable, .codable])
  }
}
