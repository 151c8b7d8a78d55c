//! What characters look like.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// What a character is to whoever looks for markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Symbol {
    /// `<`, or what looks like it.
    Angle,
    /// `[`, or what looks like it.
    Square,
    /// A small letter of the words of markers, or a colon.
    Letter(u8),
    /// May stand between any two characters of a marker without being seen.
    Fill,
    /// As [`Fill`](Self::Fill), and makes a letter behind it white space.
    Backslash,
    /// No part of a marker.
    Other,
}

/// Says what a character looks like, symbol by symbol.
#[inline]
pub(super) fn fold(character: char, mut each: impl FnMut(Symbol)) {
    match character {
        '\0'..='\x7f' => each(ascii(character)),
        _ if is_fill(character) => each(Symbol::Fill),
        _ => decompose_compatible(character, |part| fold_part(part, &mut each)),
    }
}

fn fold_part(part: char, each: &mut impl FnMut(Symbol)) {
    let small = part.to_lowercase().next().unwrap_or(part);
    let symbol = match small {
        '\0'..='\x7f' => ascii(small),
        _ if is_fill(small) => Symbol::Fill,
        _ => look_alike(small),
    };
    each(symbol);
    // Two in one.
    if matches!(small, '«' | '≪' | '⋘' | '⟪' | '《' | '⪡' | '⫷' | '∷') {
        each(symbol);
    }
}

fn ascii(character: char) -> Symbol {
    match character {
        '<' => Symbol::Angle,
        '[' => Symbol::Square,
        '\\' => Symbol::Backslash,
        '\0'..=' ' | '\x7f' | '-' | '/' | '_' => Symbol::Fill,
        // What marks text up.
        '*' | '+' | '.' | '`' | '~' => Symbol::Fill,
        '0' => Symbol::Letter(b'o'),
        '1' | 'I' | 'i' | '|' => Symbol::Letter(b'l'),
        'A'..='Z' | 'a'..='z' | ':' => Symbol::Letter(character.to_ascii_lowercase() as u8),
        _ => Symbol::Other,
    }
}

fn look_alike(small: char) -> Symbol {
    match small {
        '˂' | '˱' | 'ᐸ' | 'ᚲ' | '‹' | '≤' | '≦' | '≲' | '≺' | '⋖' | '❬' | '❮' | '❰' | '⟨' => {
            Symbol::Angle
        }
        '⦉' | '⦑' | '⦓' | '⧼' | '⩽' | '〈' | '◀' | '◁' | '◂' | '◃' | '⏴' | '⮜' | '\u{1D236}' => {
            Symbol::Angle
        }
        '«' | '≪' | '⋘' | '⟪' | '《' | '⪡' | '⫷' => Symbol::Angle,
        '⁅' | '❲' | '⟦' | '⟬' | '⦋' | '⦍' | '⦏' | '⦗' | '【' | '〔' | '〚' | '〘' => Symbol::Square,
        '∶' | '∷' | '꞉' | 'ː' | '׃' | 'ܼ' => Symbol::Letter(b':'),
        '‐' | '‒'..='―' | '−' | '⁃' | '⸺' | '⸻' | '⁄' | '∕' | '⧸' | '╱' => Symbol::Fill,
        '∖' | '⧵' | '⧹' => Symbol::Backslash,
        _ => letter(small).map_or(Symbol::Other, Symbol::Letter),
    }
}

/// The Latin letter that a small one of another alphabet looks like, itself or as a capital.
fn letter(small: char) -> Option<u8> {
    let badges = |first: u32| u8::try_from(u32::from(small).checked_sub(first)?).ok().filter(|at| *at < 26);
    let latin = match small {
        'а' | 'α' | 'ɑ' | 'ᴀ' | 'ꓮ' | 'ⲁ' => b'a',
        'с' | 'ϲ' | 'ᴄ' | 'ꓚ' | 'ⲥ' => b'c',
        'ԁ' | 'ᴅ' | 'đ' | 'ɗ' | 'ꓓ' | 'ꭰ' => b'd',
        'е' | 'ε' | 'ҽ' | 'ᴇ' | 'ɛ' | 'є' | '℮' | 'ꓰ' | 'ꭼ' | 'ⲉ' => b'e',
        'ӏ' | 'і' | 'ι' | 'ʟ' | 'ł' | 'ı' | '∣' | '│' | 'ꓡ' | 'ꮮ' => b'l',
        'п' | 'ν' | 'η' | 'ո' | 'ɴ' | 'ŋ' | 'ꓠ' | 'ⲛ' => b'n',
        'о' | 'ο' | 'σ' | 'օ' | 'ᴏ' | 'ø' | 'ꓳ' | 'ⲟ' => b'o',
        'р' | 'ρ' | 'ᴘ' | 'ꓑ' | 'ⲣ' => b'p',
        'г' | 'ᴦ' | 'ʀ' | 'ꓣ' => b'r',
        'т' | 'τ' | 'ᴛ' | 'ŧ' | 'ꓔ' | 'ꭲ' | 'ⲧ' => b't',
        'υ' | 'ս' | 'ᴜ' | 'ц' | 'ꓴ' => b'u',
        'х' | 'χ' | '×' | '✕' | '✗' | 'ꓫ' | 'ⲭ' => b'x',
        // Letters on black discs, on black squares, and of flags.
        _ => return [0x1F150, 0x1F170, 0x1F1E6].into_iter().find_map(badges).map(|at| b'a' + at),
    };
    Some(latin)
}

/// White space, marks, and what is not seen at all. Marks of words and the stuffing count as well.
fn is_fill(character: char) -> bool {
    let unseen = matches!(character,
        '\u{ad}' | '\u{b7}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}'
        | '\u{8e2}' | '\u{115f}'..='\u{1160}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
        | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}');
    let private = matches!(character, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}');
    unseen || private || character.is_whitespace() || character.is_control() || is_combining_mark(character)
}
