import CoherenceModelFiles
import Testing

@Suite("Model files: attributes and elements without a meaning")
struct UnreadPartTests {
  /// A file with an unknown attribute or an unknown element, each with a name of its own, in every kind of element.
  private static let text = MusicFile.model(
    """
    <entity name="A" a1="x">
      <attribute name="n" attributeType="String" a2="x">
        <userInfo a3="x"><entry key="k" value="v" a4="x"><e4/></entry><e3/></userInfo><e2/>
      </attribute>
      <attribute name="box" attributeType="Composite" compositeName="Box"/>
      <attribute name="own" attributeType="Composite"><attribute name="x" attributeType="Double" a5="x"/></attribute>
      <relationship name="r" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="A" a6="x">
        <userInfo><e6/></userInfo>
      </relationship>
      <fetchedProperty name="f" a7="x">
        <fetchRequest name="fetchedPropertyFetchRequest" entity="A" predicateString="n == 'a'" a8="x"/>
        <userInfo a9="x"/>
      </fetchedProperty>
      <fetchIndex name="i" a10="x">
        <fetchIndexElement property="n" type="Binary" order="ascending" a11="x"><e11/></fetchIndexElement>
      </fetchIndex>
      <uniquenessConstraints a12="x">
        <uniquenessConstraint a13="x"><constraint value="n" a14="x"/><e14/></uniquenessConstraint>
      </uniquenessConstraints>
    </entity>
    <composite name="Box" a15="x"><attribute name="w" attributeType="Double" a16="x"/><e16/></composite>
    <fetchRequest name="t" entity="A" a17="x"><e17/></fetchRequest>
    <configuration name="C" a18="x"><memberEntity name="A" a19="x"><e19/></memberEntity><e18/></configuration>
    <e0/>
    """)
  private static let attributes = (1...19).map { "a\($0)" }
  private static let elements = [0, 2, 3, 4, 6, 11, 14, 16, 17, 18, 19].map { "e\($0)" }

  @Test func `unknown attributes and elements of every part are written back`() throws {
    let file = try MusicFile.make(Self.text)
    let text = file.xml
    for name in Self.attributes { #expect(text.contains(" \(name)=\"x\""), "\(name)") }
    for name in Self.elements { #expect(text.contains("<\(name)/>"), "\(name)") }
    let again = try MusicFile.make(text)
    #expect(again == file)
    #expect(again.xml == text)
    #expect(again.entities[0].uniqueness == [["n"]] && again.entities[0].attributes[0].userInfo == ["k": "v"])
    #expect(again.configurations[0].entities == ["A"])
  }

  @Test func `every unknown attribute and element of a part has one warning`() throws {
    let warnings = try MusicFile.make(Self.text).warnings
    for name in Self.attributes + Self.elements {
      #expect(warnings.count(where: { $0.contains("'\(name)'") }) == 1, "\(name)")
    }
  }

  @Test func `unknown attributes of the root have a warning, and those of the editor have none`() throws {
    let file = try MusicFile.make("<model name=\"\" systemVersion=\"1\" usedWithCloudKit=\"YES\" future=\"x\"/>")
    #expect(try MusicFile.make(file.xml) == file)
    #expect(file.warnings.count == 2)
    for name in ["'usedWithCloudKit'", "'future'"] { #expect(file.warnings.contains { $0.contains(name) }, "\(name)") }
    #expect(try MusicFile.make("<model usedWithCloudKit=\"false\"/>").warnings == [])
  }

  @Test func `a changed user info, list of members or constraint is written in place of the elements that were read`()
    throws
  {
    var file = try MusicFile.make(Self.text)
    file.entities[0].attributes[0].userInfo["k"] = "new"
    file.entities[0].uniqueness = [["n", "r"]]
    file.configurations[0].entities = []
    let again = try MusicFile.make(file.xml)
    #expect(again.entities[0].attributes[0].userInfo == ["k": "new"])
    #expect(again.entities[0].uniqueness == [["n", "r"]])
    #expect(again.configurations[0].entities == [])
  }

  @Test func `an attribute with a derivation that is switched off stays a stored attribute when it is written`() throws
  {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="A">
          <attribute name="n" optional="YES" attributeType="String" derived="NO" derivationExpression="canonical:(m)"/>
        </entity>
        """))
    let again = try MusicFile.make(file.xml)
    #expect(again == file && again.entities[0].attributes[0].derivation == nil)
    #expect(again.entities[0].attributes[0].otherAttributes["derivationExpression"] == "canonical:(m)")
  }

  @Test func `a composite with an element of its own and a type is written as one attribute`() throws {
    let file = try MusicFile.make(
      MusicFile.model(
        """
        <entity name="A">
          <composite name="box" attributeType="Composite"><attribute name="x" attributeType="Double"/></composite>
        </entity>
        """))
    #expect(try MusicFile.make(file.xml) == file)
  }
}
