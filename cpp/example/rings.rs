// Fits and predicts through the C interface: rustc rings.rs -L <prefix>/lib
use std::ffi::{c_char, c_int, c_void, CStr, CString};
use std::ptr::{null, null_mut};

#[link(name = "maxmargin")]
extern "C" {
    fn mm_last_error() -> *const c_char;
    fn mm_samples_dense(
        values: *const c_void, kind: c_int, n_rows: i64, n_features: i64, row_stride: i64,
        column_stride: i64, samples: *mut *mut c_void,
    ) -> c_int;
    fn mm_samples_free(samples: *mut c_void);
    fn mm_options_new(estimator: *const c_char, options: *mut *mut c_void) -> c_int;
    fn mm_options_set_number(options: *mut c_void, name: *const c_char, value: f64) -> c_int;
    fn mm_options_free(options: *mut c_void);
    fn mm_fit(
        options: *const c_void, x: *const c_void, y: *const f64, weight: *const f64,
        model: *mut *mut c_void,
    ) -> c_int;
    fn mm_predict(
        model: *const c_void, x: *const c_void, options: *const c_void, out: *mut f64,
    ) -> c_int;
    fn mm_model_free(model: *mut c_void);
}
const FLOAT64: c_int = 1;

fn check(status: c_int) {
    if status != 0 {
        panic!("{}", unsafe { CStr::from_ptr(mm_last_error()) }.to_string_lossy());
    }
}

fn main() {
    // A grid of points, labelled by whether they are far from the origin.
    let points: Vec<[f64; 2]> = (0..400)
        .map(|i| [(i % 20) as f64 / 5.0 - 1.9, (i / 20) as f64 / 5.0 - 1.9])
        .collect();
    let y: Vec<f64> =
        points.iter().map(|p| if p[0].hypot(p[1]) > 1.4 { 1.0 } else { -1.0 }).collect();
    let text = |s: &str| CString::new(s).unwrap();
    let mut predicted = vec![0.0; y.len()];
    let (mut x, mut options, mut model) = (null_mut(), null_mut(), null_mut());
    unsafe {
        let n = y.len() as i64;
        check(mm_samples_dense(points.as_ptr().cast(), FLOAT64, n, 2, 2, 1, &mut x));
        check(mm_options_new(text("svc").as_ptr(), &mut options));
        check(mm_options_set_number(options, text("C").as_ptr(), 10.0));
        check(mm_fit(options, x, y.as_ptr(), null(), &mut model));
        check(mm_predict(model, x, null(), predicted.as_mut_ptr()));
        mm_model_free(model);
        mm_options_free(options);
        mm_samples_free(x);
    }
    let n_right = predicted.iter().zip(&y).filter(|(a, b)| a == b).count();
    println!("{} of {} right", n_right, y.len());
    assert!(n_right > 380);
}
