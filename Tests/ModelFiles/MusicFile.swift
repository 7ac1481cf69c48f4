import CoherenceCore
import CoherenceModelFiles
import Foundation

class Release: ManagedObject {}
final class Single: Release {}
final class Track: ManagedObject {}

/// A class that declares its entity itself.
final class Rack: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
  }
  static var entityName: String { "Rack" }
  static var entityDeclaration: Entity { Entity("Rack", class: Rack.self) {} }
}

/// A model with every feature of the editor, as text of a file, and the same model in code.
enum MusicFile {
  static let classes: EntityClasses = [Release.self, Single.self, Track.self]

  static func make(_ text: String = text) throws -> ModelFile {
    try ModelFile(xml: Data(text.utf8), named: "Music", path: "Music.xcdatamodel/contents")
  }

  /// The text with the contents of a model.
  static func model(_ contents: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
    \(contents)
    </model>
    """
  }

  static let text = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="22222" \
    systemVersion="23A344" minimumToolsVersion="Automatic" sourceLanguage="Swift" \
    userDefinedModelVersionIdentifier="spring">
        <entity name="Release" representedClassName=".Release" isAbstract="YES" elementID="Album" syncable="YES">
            <attribute name="name" attributeType="String" minValueString="1" maxValueString="80" \
    regularExpressionString="[A-Z].*"/>
            <attribute name="nameFold" optional="YES" attributeType="String" derived="YES" \
    derivationExpression="canonical:(name)"/>
            <attribute name="price" optional="YES" attributeType="Decimal" minValueString="0" maxValueString="99.5" \
    defaultValueString="9.90"/>
            <attribute name="size" optional="YES" attributeType="Composite" compositeName="Size"/>
            <relationship name="tracks" optional="YES" toMany="YES" maxCount="99" deletionRule="Cascade" ordered="YES" \
    destinationEntity="Track" inverseName="release" inverseEntity="Track"/>
            <uniquenessConstraints>
                <uniquenessConstraint>
                    <constraint value="name"/>
                </uniquenessConstraint>
            </uniquenessConstraints>
        </entity>
        <entity name="Single" representedClassName="Music.Single" parentEntity="Release" syncable="YES">
            <attribute name="chart" attributeType="Integer 16" defaultValueString="-1" usesScalarValueType="YES"/>
        </entity>
        <entity name="Track" representedClassName="Track" syncable="YES" codeGenerationType="class">
            <attribute name="added" attributeType="Date" minDateTimeInterval="0" defaultDateTimeInterval="0.5" \
    usesScalarValueType="NO"/>
            <attribute name="bytes" optional="YES" attributeType="Binary" allowsExternalBinaryDataStorage="YES"/>
            <attribute name="gain" optional="YES" attributeType="Float" usesScalarValueType="YES"/>
            <attribute name="home" optional="YES" attributeType="URI" defaultValueString="https://example.org/"/>
            <attribute name="id" optional="YES" attributeType="UUID" usesScalarValueType="NO"/>
            <attribute name="isLive" attributeType="Boolean" defaultValueString="YES" usesScalarValueType="YES"/>
            <attribute name="isPlaying" optional="YES" transient="YES" attributeType="Boolean"/>
            <attribute name="length" attributeType="Double" defaultValueString="0.0" usesScalarValueType="YES"/>
            <attribute name="plays" attributeType="Integer 64" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="title" attributeType="String" defaultValueString="a &lt; &quot;b&quot;&#10;&amp; c" \
    elementID="caption" spotlightIndexingEnabled="YES">
                <userInfo>
                    <entry key="hint" value="The title"/>
                </userInfo>
            </attribute>
            <attribute name="waves" optional="YES" attributeType="Transformable" valueTransformerName="Waves" \
    customClassName="Wave"/>
            <attribute name="year" optional="YES" attributeType="Integer 32" minValueString="1900" \
    maxValueString="2100" usesScalarValueType="YES"/>
            <relationship name="covers" toMany="YES" minCount="2" deletionRule="Deny" destinationEntity="Track" \
    inverseName="original" inverseEntity="Track"/>
            <relationship name="original" optional="YES" maxCount="1" deletionRule="No Action" \
    destinationEntity="Track" inverseName="covers" inverseEntity="Track"/>
            <relationship name="release" maxCount="1" deletionRule="Nullify" destinationEntity="Release" \
    inverseName="tracks" inverseEntity="Release"/>
            <fetchedProperty name="sameYear" optional="YES">
                <fetchRequest name="fetchedPropertyFetchRequest" entity="Track" predicateString="year == 2000"/>
                <userInfo>
                    <entry key="use" value="list"/>
                </userInfo>
            </fetchedProperty>
            <fetchIndex name="byYear">
                <fetchIndexElement property="year" type="Binary" order="descending"/>
                <fetchIndexElement property="title" type="Binary" order="descending"/>
            </fetchIndex>
            <userInfo>
                <entry key="uniquenessAttributes" value="id"/>
            </userInfo>
        </entity>
        <composite name="Size">
            <attribute name="width" optional="YES" attributeType="Double"/>
            <attribute name="origin" optional="YES" attributeType="Composite" compositeName="Point"/>
        </composite>
        <composite name="Point">
            <attribute name="x" attributeType="Double"/>
        </composite>
        <fetchRequest name="live" entity="Track" predicateString="isLive == YES AND title CONTAINS &quot;$&quot; AND \
    year &gt; $YEAR" fetchLimit="5"/>
        <configuration name="Catalog" usedWithCloudKit="NO">
            <memberEntity name="Release"/>
            <memberEntity name="Single"/>
        </configuration>
        <elements>
            <element name="Release" positionX="-63" positionY="-18" width="128" height="104"/>
        </elements>
        <future kind="unknown">text &amp; more</future>
    </model>
    """

  static func declared() throws -> ManagedObjectModel {
    try ManagedObjectModel(
      name: "Music", entities: [release, single, track], configurations: ["Catalog": ["Release", "Single"]],
      versionIdentifiers: ["spring"])
  }

  private static let release = Entity(
    "Release", class: Release.self, isAbstract: true, uniqueness: [["name"]], renamingIdentifier: "Album"
  ) {
    Attribute("name", .string, validation: [.minimumLength(1), .maximumLength(80), .pattern("[A-Z].*")])
    Attribute("nameFold", .string, optional: true, derived: .canonical("name"))
    Attribute(
      "price", .decimal, optional: true, default: Decimal(string: "9.9"),
      validation: [.minimum(.decimal(0)), .maximum(.decimal(Decimal(string: "99.5")!))])
    CompositeAttribute(
      "size", parts: [Attribute("width", .double, optional: true), Attribute("origin.x", .double, optional: true)])
    Relationship(
      "tracks", toMany: "Track", inverse: "release", ordered: true, maximumCount: 99, deleteRule: .cascade)
  }

  private static let single = Entity("Single", class: Single.self, parent: "Release") {
    Attribute("chart", .int16, default: -1)
  }

  private static let track = Entity(
    "Track", class: Track.self, indexes: [["year", "title"]], userInfo: ["uniquenessAttributes": "id"]
  ) {
    Attribute(
      "added", .date, default: Date(timeIntervalSinceReferenceDate: 0.5),
      validation: [.minimum(Date(timeIntervalSinceReferenceDate: 0).attributeValue)])
    Attribute("bytes", .data, optional: true)
    Attribute("gain", .float, optional: true)
    Attribute("home", .url, optional: true, default: "https://example.org/")
    Attribute("id", .uuid, optional: true)
    Attribute("isLive", .bool, default: true)
    Attribute("length", .double, default: 0.0)
    Attribute("plays", .int64, default: 0)
    Attribute(
      "title", .string, default: "a < \"b\"\n& c", renamingIdentifier: "caption", userInfo: ["hint": "The title"])
    Attribute("waves", .transformable("Waves"), optional: true)
    Attribute("year", .int32, optional: true, validation: [.minimum(.int(1900)), .maximum(.int(2100))])
    Relationship("covers", toMany: "Track", inverse: "original", minimumCount: 2, deleteRule: .deny)
    Relationship("original", toOne: "Track", inverse: "covers", deleteRule: .noAction)
    Relationship("release", toOne: "Release", inverse: "tracks", optional: false)
  }
}

/// The facts of a model's descriptions, for comparisons of models from two sources.
func facts(of model: ManagedObjectModel) -> [String] {
  var facts = ["versions \(model.versionIdentifiers.sorted())"]
  facts += model.configurations.map { name in
    "configuration \(name) \(model.entities(forConfigurationName: name)!.map(\.name))"
  }
  for entity in model.entities {
    let head = "\(entity.name) \(entity.objectClass) \(entity.superentity?.name ?? "-") \(entity.isAbstract)"
    facts.append("\(head) \(entity.formerNames) \(entity.userInfo.sorted { $0.key < $1.key }) \(entity.versionHash)")
    facts.append("\(entity.uniquenessConstraints.map { $0.map(\.name) }) \(entity.indexes.map { $0.map(\.name) })")
    for attribute in entity.attributes {
      let head = "\(entity.name).\(attribute.name) \(attribute.type.canonicalName) \(attribute.isOptional)"
      let rules = "\(attribute.defaultValue) \(attribute.validation)"
      facts.append("\(head) \(rules) \(attribute.formerNames) \(attribute.userInfo)")
      if case .enumeration(_, let cases) = attribute.type { facts.append("\(cases?.map { "\($0)" }.sorted() ?? [])") }
    }
    for relationship in entity.relationships {
      let head = "\(entity.name).\(relationship.name) \(relationship.destination.name)"
      let counts = "\(relationship.minimumCount) \(relationship.maximumCount ?? -1) \(relationship.isOptional)"
      facts.append("\(head) \(counts) \(relationship.isOrdered) \(relationship.deleteRule) \(relationship.formerNames)")
    }
  }
  return facts
}
