import CoherenceCore
import CoherenceModelFiles
import Foundation
import Testing

@Suite("Model files: models")
struct ModelFileTests {
  @Test func `the model of a file equals the same model declared in code, version hashes included`() throws {
    let model = try MusicFile.make().model(classes: MusicFile.classes)
    let declared = try MusicFile.declared()
    #expect(model == declared)
    #expect(model.versionHashes == declared.versionHashes)
    #expect(facts(of: model) == facts(of: declared))
    #expect(model.name == "Music")
  }

  @Test func `a file is written back without a loss, its unknown elements and attributes included`() throws {
    let file = try MusicFile.make()
    #expect(file.omissions.isEmpty)
    let again = try MusicFile.make(file.xml)
    #expect(again == file)
    #expect(again.xml == file.xml)
    let position = "<element name=\"Release\" positionX=\"-63\" positionY=\"-18\" width=\"128\" height=\"104\"/>"
    #expect(file.xml.contains(position))
    #expect(file.xml.hasSuffix("</model>"))
    let title = try #require(again.entities.last?.attributes.first { $0.name == "title" })
    #expect(title.defaultValue == "a < \"b\"\n& c")
    #expect(title.otherAttributes["spotlightIndexingEnabled"] == "YES")
    let future = try #require(again.otherElements.first { $0.name == "future" })
    #expect(future == .init("future", attributes: ["kind": "unknown"], text: "text & more"))
    let references = try MusicFile.make("<model><future>a&amp; &amp;b</future></model>")
    #expect(references.otherElements == [.init("future", text: "a& &b")])
    #expect(again.otherElements.first?.children.first?.attributes["positionX"] == "-63")
  }

  @Test func `each level of elements in a written file is indented by four spaces`() throws {
    var depth = 0
    for line in try MusicFile.make().xml.split(separator: "\n").dropFirst() {
      let element = line.drop { $0 == " " }
      if element.hasPrefix("</") { depth -= 1 }
      #expect(line.count - element.count == 4 * depth, "\(line)")
      if !element.contains("</"), !element.hasSuffix("/>") { depth += 1 }
    }
    #expect(depth == 0)
  }

  @Test func `a model made in code is written as a file whose model equals it`() throws {
    let declared = try MusicFile.declared()
    let file = ModelFile(declared)
    #expect(file.omissions.isEmpty)
    let model = try MusicFile.make(file.xml).model(classes: MusicFile.classes)
    #expect(facts(of: model) == facts(of: declared))
    #expect(model == declared)
  }

  @Test func `types without a field in Xcode keep their meaning in a file`() throws {
    let shelf = Entity("Shelf", formerNames: ["Rack", "Board"]) {
      Attribute("tags", .codable, optional: true)
      Attribute(
        "kind", .enumeration(raw: .string, cases: [.string("wood"), .string("steel")]), formerNames: ["a", "b"])
      Attribute("level", .enumeration(raw: .int16, cases: nil), default: 3)
      Attribute("seal", .data, default: Data([1, 2, 3]), validation: [.minimumLength(2)])
      Attribute("notes", .data, default: Data())
      CompositeAttribute("box", parts: [Attribute("w", .double, formerNames: ["crate.w"]), Attribute("p.x", .int32)])
    }
    let declared = try ManagedObjectModel(name: "Shelf", entities: [shelf])
    let file = ModelFile(declared)
    #expect(file.omissions.isEmpty)
    let model = try MusicFile.make(file.xml).model()
    #expect(facts(of: model) == facts(of: declared))
    #expect(model.entities[0].attribute(named: "box.w")?.formerNames == ["crate.w"])
  }

  @Test func `a model with conversions becomes a file that lists them as omitted`() throws {
    let entity = Entity("Shelf") { Attribute("width", .double, optional: true, converting: { $0 }) }
    let file = ModelFile(try ManagedObjectModel(name: "Shelf", entities: [entity]))
    #expect(file.omissions.count == 1)
    #expect(file.omissions.first?.contains("'Shelf.width'") == true)
  }

  @Test func `a model with an attribute of the last author becomes a file that lists its rule as omitted`() throws {
    let entity = Entity("Shelf") {
      Attribute("savedBy", .string, derived: .author)
      Attribute("savedAt", .date, derived: .now)
    }
    let file = ModelFile(try ManagedObjectModel(name: "Shelf", entities: [entity]))
    #expect(file.omissions.count == 1)
    #expect(file.omissions.first?.contains("'Shelf.savedBy'") == true)
    #expect(file.entities.flatMap(\.attributes).compactMap(\.derivation) == ["now()"])
  }

  @Test func `every part of a file that the model leaves out has a warning`() throws {
    let warnings = try MusicFile.make().warnings
    for part in ["'Track.isPlaying'", "'spotlightIndexingEnabled'", "'future'"] {
      #expect(warnings.contains { $0.contains(part) }, "\(part)")
    }
    #expect(warnings.count == 3)
    let model = try MusicFile.make().model(classes: MusicFile.classes)
    #expect(Array(model.warnings.prefix(3)) == warnings)
    let fetched = try model.entity(named: "Track").fetchedProperties
    #expect(fetched.map(\.name) == ["sameYear"])
    let track = try #require(try MusicFile.make().entities.first { $0.name == "Track" })
    #expect(track.fetchedProperties.map(\.userInfo) == [["use": "list"]])
  }

  @Test func `a template becomes a fetch request with the values of its variables`() throws {
    let file = try MusicFile.make()
    let request = try file.fetchRequest(named: "live", for: Track.self, substituting: ["YEAR": 1990])
    #expect(request.entityName == "Track")
    #expect(request.fetchLimit == 5)
    let expected = try FetchPredicate(format: "isLive == YES AND title CONTAINS \"$\" AND year > 1990")
    #expect(request.predicate?.description == expected.description)
    #expect { try file.fetchRequest(named: "live") } throws: {
      ErrorCode.invalidFetchRequest ~= $0 && "\($0)".contains("$YEAR")
    }
    #expect { try file.fetchRequest(named: "dead") } throws: { "\($0)".contains("live") }
  }

  @Test func `a template fetches all records, also of subentities, unless it has a limit or leaves subentities out`()
    throws
  {
    let file = ModelFile(fetchRequests: [
      ModelFile.FetchTemplate("all", entity: "Track"),
      ModelFile.FetchTemplate("own", entity: "Track", fetchLimit: 0, includesSubentities: false),
      ModelFile.FetchTemplate("broken", entity: "Track", predicate: "year >"),
    ])
    let all = try file.fetchRequest(named: "all")
    #expect(all.predicate == nil && all.fetchLimit == nil && all.includesSubentities)
    let own = try file.fetchRequest(named: "own")
    #expect(own.fetchLimit == nil && !own.includesSubentities)
    #expect { try file.fetchRequest(named: "broken") } throws: { ErrorCode.invalidPredicate ~= $0 }
  }

  @Test func `a missing class registration throws an error with the line to add`() throws {
    let file = try MusicFile.make(
      MusicFile.model("<entity name=\"Shelf\" representedClassName=\".UnknownShelf\"></entity>"))
    #expect { try file.model() } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("ManagedObjectClasses.register(UnknownShelf.self)")
        && "\($0)".contains("line 3")
    }
    #expect { try file.model(classes: [Track.self]) } throws: { "\($0)".contains("add UnknownShelf.self") }
    #expect(try file.model(classes: .generic).entities[0].objectClass == ManagedObject.self)
  }

  @Test func `registered classes are found with and without the name of their module`() throws {
    ManagedObjectClasses.register(Track.self, Single.self)
    ManagedObjectClasses.register(Track.self)
    for name in ["Track", ".Track", "ModelFilesTests.Track", "OldModule.Track"] {
      let file = try MusicFile.make(MusicFile.model("<entity name=\"T\" representedClassName=\"\(name)\"></entity>"))
      #expect(try file.model().entities[0].objectClass == Track.self)
    }
  }

  @Test func `a former name at any level of a composite becomes a former name of the parts below`() throws {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="A">
          <attribute name="box" attributeType="Composite" compositeName="Box" elementID="crate"/>
        </entity>
        <composite name="Box">
          <attribute name="p" attributeType="Composite" compositeName="Point" elementID="q"/>
        </composite>
        <composite name="Point"><attribute name="x" attributeType="Double" elementID="y"/></composite>
        """))
    let names = try file.model().entities[0].attribute(named: "box.p.x")?.formerNames
    #expect(
      names == ["box.p.y", "box.q.x", "box.q.y", "crate.p.x", "crate.p.y", "crate.q.x", "crate.q.y"])
  }

  @Test func `spaces around the former names of a list do not count`() throws {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="Shelf" elementID="Rack">
          <attribute name="tag" attributeType="String" elementID="label">
            <userInfo><entry key="coherence.formerNames" value="title, name ,"/></userInfo>
          </attribute>
          <userInfo><entry key="coherence.formerNames" value="Board, Case"/></userInfo>
        </entity>
        """))
    let shelf = try file.model().entities[0]
    #expect(shelf.formerNames == ["Rack", "Board", "Case"])
    #expect(shelf.attribute(named: "tag")?.formerNames == ["label", "title", "name"])
  }

  @Test func `a template with a list as its variable has no warning`() throws {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="Track" representedClassName="NSManagedObject">
          <attribute name="year" attributeType="Integer 32"/>
        </entity>
        <fetchRequest name="some" entity="Track" predicateString="year IN $YEARS OR year BETWEEN $SPAN"/>
        """))
    #expect(file.warnings == [])
    let request = try file.fetchRequest(named: "some", substituting: ["YEARS": [1990, 1991], "SPAN": [2000, 2010]])
    let expected = try FetchPredicate(format: "year IN {1990, 1991} OR year BETWEEN {2000, 2010}")
    #expect(request.predicate?.description == expected.description)
  }

  @Test func `a class that declares another entity is an error that names both`() throws {
    let file = try MusicFile.make(
      MusicFile.model("<entity name=\"Shelf\" representedClassName=\"Rack\"></entity>"))
    #expect { try file.model(classes: [Rack.self]) } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("'Shelf' (line 3) has the class 'Rack'")
        && "\($0)".contains("declares the entity 'Rack'")
    }
    let own = try MusicFile.make(MusicFile.model("<entity name=\"Rack\" representedClassName=\"Rack\"></entity>"))
    #expect(try own.model(classes: [Rack.self]).entities[0].objectClass == Rack.self)
  }

  @Test(arguments: ["Track", "NSManagedObject"])
  func `a class of a subentity that does not inherit from the class of the parent is an error`(name: String) throws {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="Release" representedClassName="Release"></entity>
        <entity name="Single" representedClassName="\(name)" parentEntity="Release"></entity>
        """))
    #expect { try file.model(classes: [Release.self, Track.self]) } throws: {
      ErrorCode.invalidModel ~= $0 && "\($0)".contains("'Single' (line 4)")
        && "\($0)".contains("does not inherit from 'Release'")
    }
    #expect(throws: Never.self) { try file.model(classes: .generic) }
  }

  @Test func `settings of the file that would change the meaning of the model have warnings`() throws {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="A">
          <attribute name="n" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="bs.bs.@count"/>
          <attribute name="t" optional="YES" attributeType="Transformable" versionHashModifier="2"/>
          <attribute name="old" optional="YES" attributeType="String" indexed="YES"/>
          <relationship name="bs" optional="YES" toMany="YES" minCount="2" deletionRule="Nullify" destinationEntity="A"/>
          <fetchIndex name="place"><fetchIndexElement property="n" type="RTree" order="ascending"/></fetchIndex>
          <fetchIndex name="fold"><fetchIndexElement expression="lowercase:(old)" type="Binary"/></fetchIndex>
        </entity>
        <fetchRequest name="odd" entity="A" predicateString="FUNCTION(n, 'abs') &gt; 0"/>
        """))
    let model = try file.model()
    #expect(model.entities[0].indexes.map { $0.map(\.name) } == [["old"]])
    #expect(model.entities[0].relationship(named: "bs")?.minimumCount == 0)
    let parts = ["bs.@count", "versionHashModifier", "transformer", "minimum of 2", "RTree", "'fold'", "'odd'"]
    for part in parts { #expect(file.warnings.contains { $0.contains(part) }, "\(part)") }
    #expect(file.warnings.count == parts.count)
  }

  @Test func `an index with an expression or without a property is left out, and an index of two orders is ascending`()
    throws
  {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="A">
          <attribute name="n" optional="YES" attributeType="String"/>
          <attribute name="m" optional="YES" attributeType="String"/>
          <fetchIndex name="mixed">
            <fetchIndexElement property="n" type="Binary" order="ascending"/>
            <fetchIndexElement expression="lowercase:(n)" type="Binary"/>
          </fetchIndex>
          <fetchIndex name="none"/>
          <fetchIndex name="orders">
            <fetchIndexElement property="n" type="Binary" order="ascending"/>
            <fetchIndexElement property="m" type="Binary" order="descending"/>
          </fetchIndex>
        </entity>
        """))
    #expect(try file.model().entities[0].indexes.map { $0.map(\.name) } == [["n", "m"]])
    #expect(
      file.warnings == [
        "Index 'mixed' of 'A' is left out: stores have no indexes of expressions.",
        "Index 'none' of 'A' is left out: it names no property.",
        "Index 'orders' of 'A' has all properties in ascending order.",
      ])
  }
}
